#include "host_device.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace crayon {
namespace gpu {
namespace {

template <typename K>
void run_all(uint32_t blocks, const Work& work) {
    const auto shared = std::make_unique<typename K::Shared>();
    for (uint32_t i = 0; i < blocks; ++i) K::run(Block<K::kThreads>(i), work, *shared);
}

class HostDevice : public Device {
  public:
    explicit HostDevice(size_t budget) : budget_(budget) {}
    const char* kind() const override { return "host"; }
    const char* name() const override { return "the CPU, in place of a GPU"; }
    int index() const override { return 0; }
    const char* error() const override { return last_error().c_str(); }

    Status memory(size_t* free, size_t* total) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        *free = budget_ - used_;
        *total = budget_;
        return Status::ok;
    }
    Status allocate(size_t bytes, void** memory) override {
        *memory = nullptr;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (bytes > budget_ - used_) {
            last_error() =
                std::to_string(bytes) + " bytes are asked for, " + std::to_string(budget_ - used_) + " are free";
            return Status::out_of_memory;
        }
        // Its size is kept in front of it.
        auto* const block = static_cast<size_t*>(std::malloc(bytes + kFront));
        if (block == nullptr) {
            last_error() = "no memory";
            return Status::out_of_memory;
        }
        *block = bytes;
        used_ += bytes;
        *memory = reinterpret_cast<char*>(block) + kFront;
        std::memset(*memory, 0xA5, bytes);  // a device's memory is not zero
        return Status::ok;
    }
    void release(void* memory) override {
        if (memory == nullptr) return;
        auto* const block = reinterpret_cast<size_t*>(static_cast<char*>(memory) - kFront);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            used_ -= *block;
        }
        std::free(block);
    }
    Status allocate_pinned(size_t bytes, void** memory) override {
        *memory = std::malloc(bytes > 0 ? bytes : 1);
        return *memory != nullptr ? Status::ok : Status::out_of_memory;
    }
    void release_pinned(void* memory) override { std::free(memory); }

    Status open_stream(Stream* stream) override {
        *stream = nullptr;
        return Status::ok;
    }
    void close_stream(Stream) override {}
    Status to_device(void* to, const void* from, size_t bytes, Stream) override { return moved(to, from, bytes); }
    Status to_host(void* to, const void* from, size_t bytes, Stream) override { return moved(to, from, bytes); }
    Status copy(void* to, const void* from, size_t bytes, Stream) override { return moved(to, from, bytes); }
    Status zero(void* to, size_t bytes, Stream) override {
        if (bytes > 0) std::memset(to, 0, bytes);
        return Status::ok;
    }
    Status launch(Kernel kernel, uint32_t blocks, const Work& work, Stream) override {
        const auto started = std::chrono::steady_clock::now();
        switch (kernel) {
#define CRAYON_RUN(name, ...)               \
    case Kernel::name:                      \
        run_all<__VA_ARGS__>(blocks, work); \
        break;
            CRAYON_KERNELS(CRAYON_RUN)
#undef CRAYON_RUN
        }
        if (!times_kernels_) return Status::ok;
        const auto took = std::chrono::steady_clock::now() - started;
        const std::lock_guard<std::mutex> lock(mutex_);
        nanoseconds_[size_t(kernel)] += uint64_t(std::chrono::nanoseconds(took).count());
        return Status::ok;
    }
    Status wait(Stream) override {
        return Status::ok;
    }

    void time_kernels(bool on) override {
        times_kernels_ = on;
    }
    Status take_kernel_times(uint64_t* nanoseconds) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (size_t i = 0; i < kKernels; ++i) nanoseconds[i] += std::exchange(nanoseconds_[i], 0);
        return Status::ok;
    }

  private:
    static constexpr size_t kFront = 64;

    static Status moved(void* to, const void* from, size_t bytes) {
        if (bytes > 0) std::memmove(to, from, bytes);
        return Status::ok;
    }

    static std::string& last_error() {
        thread_local std::string error;
        return error;
    }

    const size_t budget_;
    std::mutex mutex_;
    size_t used_ = 0;
    std::atomic<bool> times_kernels_{false};
    std::array<uint64_t, kKernels> nanoseconds_{};
};

}  // namespace

std::unique_ptr<Device> make_host_device(size_t budget) {
    return std::make_unique<HostDevice>(budget);
}

}  // namespace gpu
}  // namespace crayon
