// A CUDA or HIP device. cuda/device.cu and hip/device.hip include this file after defining the differences:
// - CRAYON_RUNTIME(name): the runtime's name of a function or type that CUDA and HIP share
// - CRAYON_CONSTANT: marks a kernel's parameter that is read in place
// - CRAYON_LAUNCH_BOUNDS: declares the number of threads of a block
// - the namespace `runtime`
//
// Every call makes the device current and restores the thread's previous device at the end. Several threads may thus
// use several devices in turn, beside PyTorch. Streams and the default stream do not wait for each other; `after` makes
// a stream wait for another library's.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "gpu_runtime.h"
#include "kernel_events.h"
#include "kernels.h"

namespace crayon {
namespace gpu {
namespace {

using Error = CRAYON_RUNTIME(Error_t);
constexpr Error kSuccess = CRAYON_RUNTIME(Success);

// Status::lost means that every later call in the process fails, too, or that the device's contents are lost. Other
// failures affect one call.
constexpr Status status_of(Error error) {
    switch (error) {
        case kSuccess:
            return Status::ok;
        case CRAYON_RUNTIME(ErrorMemoryAllocation):
            return Status::out_of_memory;
        case CRAYON_RUNTIME(ErrorNoDevice):
        case CRAYON_RUNTIME(ErrorInvalidDevice):
        case CRAYON_RUNTIME(ErrorInsufficientDriver):
        case CRAYON_RUNTIME(ErrorInitializationError):
        case CRAYON_RUNTIME(ErrorInvalidDeviceFunction):
            return Status::unusable;
        case CRAYON_RUNTIME(ErrorIllegalAddress):
        case CRAYON_RUNTIME(ErrorLaunchFailure):
        case CRAYON_RUNTIME(ErrorPriorLaunchFailure):
        case CRAYON_RUNTIME(ErrorAssert):
        case CRAYON_RUNTIME(ErrorContextIsDestroyed):
        case CRAYON_RUNTIME(ErrorUnknown):
            return Status::lost;
        default:
            return runtime::is_unusable(error) ? Status::unusable
                   : runtime::is_sticky(error) ? Status::lost
                                               : Status::failed;
    }
}
static_assert(status_of(CRAYON_RUNTIME(ErrorIllegalAddress)) == Status::lost &&
                  status_of(CRAYON_RUNTIME(ErrorLaunchFailure)) == Status::lost,
              "sticks");
static_assert(status_of(CRAYON_RUNTIME(ErrorInvalidValue)) == Status::failed &&
                  status_of(CRAYON_RUNTIME(ErrorNotReady)) == Status::failed &&
                  status_of(CRAYON_RUNTIME(ErrorLaunchOutOfResources)) == Status::failed &&
                  status_of(CRAYON_RUNTIME(ErrorStreamCaptureUnsupported)) == Status::failed &&
                  status_of(CRAYON_RUNTIME(ErrorStreamCaptureInvalidated)) == Status::failed,
              "the next call may succeed");

std::string text_of(Error error) {
    return std::string(CRAYON_RUNTIME(GetErrorString)(error)) + " (" + CRAYON_RUNTIME(GetErrorName)(error) + ")";
}

// Makes a device current for the thread while in scope.
class Current {
  public:
    explicit Current(runtime::Context& context) : context_(context), error_(context.enter(&previous_)) {}
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    ~Current() {
        (void)CRAYON_RUNTIME(GetLastError)();  // clears the runtime's last failure, which was already reported
        if (error_ == kSuccess) context_.leave(previous_);
    }
    Error error() const { return error_; }

  private:
    runtime::Context& context_;
    const runtime::BesideCaptures beside_captures_{};
    int previous_ = 0;
    Error error_;
};

// Runs blocks from `first_block` on. Other launch parameters are members of K.
template <typename K>
__global__ void CRAYON_LAUNCH_BOUNDS(K::kThreads) run_kernel(const CRAYON_CONSTANT Work work, uint32_t first_block) {
    static_assert(K::kThreads % 32 == 0 && K::kThreads <= 1024, "whole warps");
    static_assert(sizeof(typename K::Shared) <= 48 << 10, "shared memory available without opting in to more");
    __shared__ typename K::Shared shared;
    K::run(Block<K::kThreads>(first_block + blockIdx.x), work, shared);
}

class GpuDevice : public Device {
  public:
    GpuDevice(int index, std::string name)
        : index_(index), name_(std::move(name)), process_(getpid()), context_(index) {}

    const char* kind() const override { return runtime::kKind; }
    const char* name() const override { return name_.c_str(); }
    int index() const override { return index_; }
    const char* error() const override { return last_error().c_str(); }

    // Whether this build has code for the device.
    Status check_code() {
        return call([] {
            CRAYON_RUNTIME(FuncAttributes) attributes;
            return CRAYON_RUNTIME(FuncGetAttributes)(&attributes, function<MarkDocuments>());
        });
    }

    Status memory(size_t* free, size_t* total) override {
        return call([&] { return CRAYON_RUNTIME(MemGetInfo)(free, total); });
    }
    Status allocate(size_t bytes, void** memory) override {
        *memory = nullptr;
        return call([&] { return CRAYON_RUNTIME(Malloc)(memory, bytes > 0 ? bytes : 1); }, bytes);
    }
    void release(void* memory) override {
        if (memory != nullptr) (void)call([&] { return CRAYON_RUNTIME(Free)(memory); });
    }
    Status allocate_pinned(size_t bytes, void** memory) override {
        *memory = nullptr;
        return call([&] { return runtime::allocate_pinned(memory, bytes > 0 ? bytes : 1); }, bytes);
    }
    void release_pinned(void* memory) override {
        if (memory != nullptr) (void)call([&] { return runtime::release_pinned(memory); });
    }

    Status open_stream(Stream* stream) override {
        *stream = nullptr;
        return call([&] {
            return CRAYON_RUNTIME(StreamCreateWithFlags)(reinterpret_cast<Handle*>(stream),
                                                         CRAYON_RUNTIME(StreamNonBlocking));
        });
    }
    void close_stream(Stream stream) override {
        if (stream != nullptr) (void)call([&] { return CRAYON_RUNTIME(StreamDestroy)(handle(stream)); });
    }
    Status after(Stream stream, Stream other) override {
        return call([&] {
            CRAYON_RUNTIME(Event_t) event = nullptr;
            Error error = CRAYON_RUNTIME(EventCreateWithFlags)(&event, CRAYON_RUNTIME(EventDisableTiming));
            if (error != kSuccess) return error;
            error = CRAYON_RUNTIME(EventRecord)(event, handle(other));
            if (error == kSuccess) error = CRAYON_RUNTIME(StreamWaitEvent)(handle(stream), event, 0);
            (void)CRAYON_RUNTIME(EventDestroy)(event);  // in the destructor: it waits for nothing
            return error;
        });
    }
    bool owns(const void* memory) override {
        bool is_ours = false;
        const Status status = call([&] {
            is_ours = runtime::is_memory_of(memory, index_);
            return kSuccess;
        });
        return status == Status::ok && is_ours;
    }
    Status to_device(void* to, const void* from, size_t bytes, Stream stream) override {
        return move(to, from, bytes, CRAYON_RUNTIME(MemcpyHostToDevice), stream);
    }
    Status to_host(void* to, const void* from, size_t bytes, Stream stream) override {
        return move(to, from, bytes, CRAYON_RUNTIME(MemcpyDeviceToHost), stream);
    }
    Status copy(void* to, const void* from, size_t bytes, Stream stream) override {
        return move(to, from, bytes, CRAYON_RUNTIME(MemcpyDeviceToDevice), stream);
    }
    Status zero(void* to, size_t bytes, Stream stream) override {
        if (bytes == 0) return Status::ok;
        return call([&] { return CRAYON_RUNTIME(MemsetAsync)(to, 0, bytes, handle(stream)); });
    }
    Status launch(Kernel kernel, uint32_t blocks, const Work& work, Stream stream) override {
        return call([&] {
            return events_.around(kernel, handle(stream), [&] {
                switch (kernel) {
#define CRAYON_RUN(name, ...) \
    case Kernel::name:        \
        return run<__VA_ARGS__>(blocks, work, handle(stream));
                    CRAYON_KERNELS(CRAYON_RUN)
#undef CRAYON_RUN
                }
                return CRAYON_RUNTIME(ErrorInvalidValue);
            });
        });
    }
    Status wait(Stream stream) override {
        return call([&] { return CRAYON_RUNTIME(StreamSynchronize)(handle(stream)); });
    }

    void time_kernels(bool on) override {
        events_.turn(on);
    }
    Status take_kernel_times(uint64_t* nanoseconds) override {
        return call([&] { return events_.take(nanoseconds); });
    }

  private:
    using Handle = CRAYON_RUNTIME(Stream_t);
    static Handle handle(Stream stream) {
        return static_cast<Handle>(stream);
    }

    // The text of this thread's last error. Several threads may use a device.
    static std::string& last_error() {
        static thread_local std::string text;
        return text;
    }

    template <typename K>
    static const void* function() {
        return reinterpret_cast<const void*>(&run_kernel<K>);
    }

    // HIP limits a launch to 2^32 - 1 threads, so larger ones are split.
    template <typename K>
    static Error run(uint32_t blocks, const Work& work, Handle stream) {
        constexpr uint32_t kMost = 0xFFFFFFFFu / K::kThreads;
        Error error = kSuccess;
        for (uint32_t first = 0; first < blocks && error == kSuccess;) {
            const uint32_t count = blocks - first < kMost ? blocks - first : kMost;
            void* arguments[] = {const_cast<Work*>(&work), &first};
            error = CRAYON_RUNTIME(LaunchKernel)(function<K>(), dim3(count), dim3(K::kThreads), arguments, 0, stream);
            first += count;
        }
        return error;
    }

    Status move(void* to, const void* from, size_t bytes, CRAYON_RUNTIME(MemcpyKind) kind, Stream stream) {
        if (bytes == 0) return Status::ok;
        return call([&] { return CRAYON_RUNTIME(MemcpyAsync)(to, from, bytes, kind, handle(stream)); });
    }

    // `bytes`: the requested size, for the error text.
    template <typename F>
    Status call(F&& f, size_t bytes = 0) {
        if (getpid() != process_) {
            last_error() = "this process was forked from the one that opened the device, and cannot use it";
            return Status::lost;
        }
        if (is_lost_) {
            last_error() = "the device failed before; this process cannot use it any more";
            return Status::lost;
        }
        const Current current(context_);
        const Error error = current.error() != kSuccess ? current.error() : f();
        const Status status = status_of(error);
        if (status == Status::ok) return status;
        last_error() = text_of(error);
        if (status == Status::out_of_memory && bytes > 0) last_error() += ", " + std::to_string(bytes) + " bytes";
        if (status == Status::lost) is_lost_ = true;
        return status;
    }

    const int index_;
    const std::string name_;
    const pid_t process_;
    std::atomic<bool> is_lost_{false};
    runtime::Context context_;
    KernelEvents events_;
};

}  // namespace

const char* kind() {
    return runtime::kKind;
}

std::vector<DeviceInfo> find_devices() {
    int count = 0;
    std::vector<DeviceInfo> found;
    if (CRAYON_RUNTIME(GetDeviceCount)(&count) == kSuccess) {
        for (int i = 0; i < count; ++i) {
            runtime::Properties properties;
            if (CRAYON_RUNTIME(GetDeviceProperties)(&properties, i) != kSuccess) continue;
            found.push_back({i, properties.name, properties.totalGlobalMem, runtime::architecture(properties)});
        }
    }
    (void)CRAYON_RUNTIME(GetLastError)();
    return found;
}

Versions find_versions() {
    int driver = 0, own = 0;
    Versions found;
    if (CRAYON_RUNTIME(DriverGetVersion)(&driver) == kSuccess && driver > 0) found.driver = runtime::version(driver);
    if (CRAYON_RUNTIME(RuntimeGetVersion)(&own) == kSuccess) found.runtime = runtime::version(own);
    (void)CRAYON_RUNTIME(GetLastError)();
    return found;
}

std::string why_unusable() {
    int count = 0, driver = 0, needed = 0;
    const Error error = CRAYON_RUNTIME(GetDeviceCount)(&count);
    if (error == kSuccess && count > 0) return "";
    const bool is_driver_known = CRAYON_RUNTIME(DriverGetVersion)(&driver) == kSuccess && driver > 0;
    const bool is_needed_known = CRAYON_RUNTIME(RuntimeGetVersion)(&needed) == kSuccess;
    (void)CRAYON_RUNTIME(GetLastError)();
    if (error == CRAYON_RUNTIME(ErrorInsufficientDriver)) {
        if (!is_driver_known) return std::string("no ") + runtime::kDriver;
        return std::string("the ") + runtime::kDriver + " is too old: it is for " + runtime::version(driver) +
               ", and this build is for " + (is_needed_known ? runtime::version(needed) : "a newer one");
    }
    if (error == kSuccess || error == CRAYON_RUNTIME(ErrorNoDevice)) return runtime::kNoDevice;
    return text_of(error);
}

OpenedDevice open_device(int index) {
    const std::string why = why_unusable();
    if (!why.empty()) return {nullptr, Status::unusable, why};
    runtime::Properties properties;
    const Error error = CRAYON_RUNTIME(GetDeviceProperties)(&properties, index);
    (void)CRAYON_RUNTIME(GetLastError)();
    if (error != kSuccess) return {nullptr, status_of(error), text_of(error)};
    auto device = std::make_unique<GpuDevice>(index, properties.name);
    const Status status = device->check_code();
    if (status == Status::ok) return {std::move(device), status, ""};
    return {nullptr, status,
            std::string(properties.name) + ", " + runtime::architecture(properties) + ": " + device->error()};
}

}  // namespace gpu
}  // namespace crayon
