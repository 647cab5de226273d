// Times kernels on a CUDA or HIP device with a pair of events around each launch. gpu_device.h includes this after the
// runtime's definitions.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "kernels.h"

namespace crayon {
namespace gpu {
namespace {

// Thread-safe; the device must be current.
class KernelEvents {
  public:
    using Error = CRAYON_RUNTIME(Error_t);
    using Event = CRAYON_RUNTIME(Event_t);

    KernelEvents() = default;
    KernelEvents(const KernelEvents&) = delete;
    KernelEvents& operator=(const KernelEvents&) = delete;
    // The events are not destroyed, because the driver may have ended before, or may be that of a parent process.
    ~KernelEvents() = default;

    void turn(bool on) { is_on_ = on; }

    template <typename Launch>
    Error around(Kernel kernel, CRAYON_RUNTIME(Stream_t) stream, Launch&& launch) {
        if (!is_on_) return launch();
        Pair pair{kernel, nullptr, nullptr};
        Error error = make(&pair.begin);
        if (error == kDone) error = make(&pair.end);
        if (error == kDone) error = CRAYON_RUNTIME(EventRecord)(pair.begin, stream);
        if (error == kDone) error = launch();
        if (error == kDone) error = CRAYON_RUNTIME(EventRecord)(pair.end, stream);
        const std::lock_guard<std::mutex> lock(mutex_);
        if (error == kDone) {
            pairs_.push_back(pair);
        } else {
            if (pair.begin != nullptr) spare_.push_back(pair.begin);
            if (pair.end != nullptr) spare_.push_back(pair.end);
        }
        return error;
    }

    // Adds the times of finished kernels to `nanoseconds`. Keeps the events of other kernels for later calls.
    Error take(uint64_t* nanoseconds) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::vector<Pair> left;
        Error failed = kDone;
        for (const Pair& pair : pairs_) {
            float milliseconds = 0;
            Error error = CRAYON_RUNTIME(EventQuery)(pair.end);
            if (error == CRAYON_RUNTIME(ErrorNotReady)) {
                left.push_back(pair);
                continue;
            }
            if (error == kDone) error = CRAYON_RUNTIME(EventElapsedTime)(&milliseconds, pair.begin, pair.end);
            if (error == kDone)
                nanoseconds[uint32_t(pair.kernel)] += uint64_t(double(milliseconds) * 1e6);
            else
                failed = error;
            spare_.push_back(pair.begin);
            spare_.push_back(pair.end);
        }
        pairs_.swap(left);
        return failed;
    }

  private:
    static constexpr Error kDone = CRAYON_RUNTIME(Success);
    struct Pair {
        Kernel kernel;
        Event begin, end;
    };

    Error make(Event* event) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!spare_.empty()) {
                *event = spare_.back();
                spare_.pop_back();
                return kDone;
            }
        }
        return CRAYON_RUNTIME(EventCreate)(event);
    }

    std::atomic<bool> is_on_{false};
    std::mutex mutex_;
    std::vector<Pair> pairs_;
    std::vector<Event> spare_;
};

}  // namespace
}  // namespace gpu
}  // namespace crayon
