// A device that runs the kernels on the CPU, one GPU thread after the other: for tests, and for studying kernels
// without a GPU.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"

namespace crayon {
namespace gpu {

// Runs all blocks of a kernel. Returns "" or the fault, after which the device is lost.
using RunKernel = std::function<std::string(Kernel kernel, uint32_t blocks, const Work& work)>;

#define CRAYON_DEVICE_CALLS(X) \
    X(memory)                  \
    X(allocate)                \
    X(release) X(allocate_pinned) X(open_stream) X(after) X(to_device) X(to_host) X(copy) X(zero) X(launch) X(wait)

enum class HostCall : uint32_t {
#define CRAYON_NAME(name) name,
    CRAYON_DEVICE_CALLS(CRAYON_NAME)
#undef CRAYON_NAME
};
#define CRAYON_ONE(name) +1
constexpr size_t kHostCalls = 0 CRAYON_DEVICE_CALLS(CRAYON_ONE);
#undef CRAYON_ONE
const char* name_of(HostCall call);

struct HostDeviceOptions {
    size_t budget = 0;          // bytes of memory that it pretends to have
    const char* kind = "host";  // as Device::kind
    // Runs a stream's work as late as a GPU may: only when a thread waits for the stream. This exposes missing waits.
    bool is_deferred = false;
    RunKernel run;  // runs kernels in another way (cpp/gpu_simulator); empty: one lane after the other
};

// Counts calls. A test can make calls fail.
class HostDevice : public Device {
  public:
    explicit HostDevice(HostDeviceOptions options);
    ~HostDevice() override;
    const char* kind() const override { return options_.kind; }
    const char* name() const override { return "the CPU, in place of a GPU"; }
    int index() const override { return 0; }
    const char* error() const override;

    Status memory(size_t* free, size_t* total) override;
    Status allocate(size_t bytes, void** memory) override;
    void release(void* memory) override;
    void show_use(void* memory, size_t bytes, size_t room) override;
    Status allocate_pinned(size_t bytes, void** memory) override;
    void release_pinned(void* memory) override;
    Status open_stream(Stream* stream) override;
    void close_stream(Stream stream) override;
    Status after(Stream stream, Stream other) override;
    bool owns(const void* memory) override { return memory != nullptr; }
    Status to_device(void* to, const void* from, size_t bytes, Stream stream) override;
    Status to_host(void* to, const void* from, size_t bytes, Stream stream) override;
    Status copy(void* to, const void* from, size_t bytes, Stream stream) override;
    Status zero(void* to, size_t bytes, Stream stream) override;
    Status launch(Kernel kernel, uint32_t blocks, const Work& work, Stream stream) override;
    Status wait(Stream stream) override;
    void time_kernels(bool on) override;
    Status take_kernel_times(uint64_t* nanoseconds) override;

    // After `calls` more calls of this kind, the next `times` calls fail with `status`. Other calls succeed, except
    // that after Status::lost all fail.
    void fail(HostCall call, uint64_t calls, Status status, uint64_t times = 1);
    // Simulates another process that takes `bytes` bytes. Unless `is_told`, memory() does not report it.
    void take_away(size_t bytes, bool is_told = true);
    struct Counts {
        std::array<uint64_t, kHostCalls> calls{};
        size_t used = 0, most_used = 0, pinned = 0, most_pinned = 0;  // bytes, now and at most
        size_t streams = 0;                                           // open
    };
    Counts counts() const;

  private:
    struct Queue {
        std::deque<std::function<void()>> work;
        uint64_t put = 0, done = 0;
    };
    struct Failure {
        uint64_t first = 0, last = 0;  // numbers of the calls to fail
        Status status = Status::ok;
    };
    // Counts a call and returns the status it should have.
    Status begin(HostCall call);
    template <typename F>
    Status put(HostCall call, Stream stream, F&& work);
    std::shared_ptr<Queue> queue_of(Stream stream);
    void run(Queue* queue, uint64_t until);
    void run_all();
    Status faulted();
    Status allocate_block(HostCall call, size_t bytes, void** memory);

    const HostDeviceOptions options_;
    mutable std::mutex mutex_;
    Counts counts_;
    std::array<Failure, kHostCalls> failures_{};
    size_t taken_ = 0, hidden_ = 0;
    bool is_lost_ = false;
    std::string fault_;  // of a kernel
    bool times_kernels_ = false;
    std::array<uint64_t, kKernels> nanoseconds_{};
    // Guards streams_. Recursive, because work of one stream may run another stream's work up to a place.
    std::recursive_mutex streams_mutex_;
    std::map<Stream, std::shared_ptr<Queue>> streams_;
};

std::unique_ptr<Device> make_host_device(size_t budget, RunKernel run = nullptr);

}  // namespace gpu
}  // namespace crayon
