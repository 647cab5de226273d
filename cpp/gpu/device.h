// The interface of a device for the encoder: memory, copies and kernels, in the order of a stream. The folders cuda/
// and hip/ implement it. host_device.h implements it on the CPU, for tests of the same kernels. There the kernels run
// one lane after the other, or in cpp/gpu_simulator.
//
// A device may be in another extension module. No exception may cross that border, so calls return a status and a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels.h"

namespace crayon {
namespace gpu {

// Guards against modules from different builds. Increase the version if this header changes, or the meaning of a
// structure or a kernel. kDeviceAbi also contains the size of Work and the number of kernels.
constexpr uint32_t kDeviceVersion = 4;
constexpr uint32_t kDeviceAbi = kDeviceVersion << 24 | uint32_t(sizeof(Work)) << 8 | kKernels;

// The name of capsules in which modules pass a Device*; the prefix is followed by kDeviceAbi.
constexpr char kDeviceNamePrefix[] = "crayon_hf.gpu.Device/";
inline const char* device_name() {
    static const std::string name = kDeviceNamePrefix + std::to_string(kDeviceAbi);
    return name.c_str();
}

enum class Status : uint32_t {
    ok,
    out_of_memory,  // the device's memory, or pinned memory.
    unusable,       // no driver, no device, or no code for it in this build.
    lost,           // The device cannot be used any more in this process.
    failed,         // This call failed; others, or a repetition, may succeed.
};

// The CUDA or HIP handle of a stream. Null is the default stream, which other libraries use. The encoder's streams and
// the default stream do not wait for each other.
using Stream = void*;

class Device {
  public:
    virtual ~Device() = default;
    virtual const char* kind() const = 0;  // "cuda", "rocm", "host"
    virtual const char* name() const = 0;  // the device's model, such as "NVIDIA H100"
    virtual int index() const = 0;
    // Returns the error text of this thread's last call that failed. Several threads may use the other methods at a
    // time, each with a stream of its own.
    virtual const char* error() const = 0;

    virtual Status memory(size_t* free, size_t* total) = 0;
    virtual Status allocate(size_t bytes, void** memory) = 0;
    virtual void release(void* memory) = 0;
    // Announces that only the first `bytes` bytes of an allocation of `room` bytes may be used from now on. For devices
    // that check accesses.
    virtual void show_use(void* memory, size_t bytes, size_t room) { (void)memory, (void)bytes, (void)room; }
    // Host memory for copies that overlap other work.
    virtual Status allocate_pinned(size_t bytes, void** memory) = 0;
    virtual void release_pinned(void* memory) = 0;

    virtual Status open_stream(Stream* stream) = 0;
    virtual void close_stream(Stream stream) = 0;
    // Makes later work in `stream` wait for all work that `other` has now. `other` may be another library's stream.
    virtual Status after(Stream stream, Stream other) = 0;
    // Whether the device can access this memory, whichever library allocated it.
    virtual bool owns(const void* memory) = 0;
    virtual Status to_device(void* to, const void* from, size_t bytes, Stream stream) = 0;
    virtual Status to_host(void* to, const void* from, size_t bytes, Stream stream) = 0;
    virtual Status copy(void* to, const void* from, size_t bytes, Stream stream) = 0;
    virtual Status zero(void* to, size_t bytes, Stream stream) = 0;
    // Launches `blocks` blocks, if any.
    virtual Status launch(Kernel kernel, uint32_t blocks, const Work& work, Stream stream) = 0;
    // Waits until all work of the stream is done.
    virtual Status wait(Stream stream) = 0;

    // Starts or stops timing kernels.
    virtual void time_kernels(bool /*on*/) {}
    // Adds the times of finished kernels since the last call to nanoseconds[kKernels]. Does not wait. The time of
    // kernels that ran concurrently includes each other's. A device that cannot measure adds nothing.
    virtual Status take_kernel_times(uint64_t* /*nanoseconds*/) { return Status::ok; }
};

}  // namespace gpu
}  // namespace crayon
