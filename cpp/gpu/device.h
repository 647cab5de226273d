// What the encoder asks of a device: memory, copies, kernels, in the order of a stream. cuda/ and hip/ have one each;
// the CPU's (host_device.h) runs the same kernels for the tests, one lane after the other or as cpp/gpu_simulator does.
//
// A device may live in another extension module: so there are no exceptions across it, but a status and a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels.h"

namespace crayon {
namespace gpu {

// Modules that were built apart must not meet: the version grows when this header changes, or what a structure or a
// kernel means; that there are others, or of another size, shows by itself.
constexpr uint32_t kDeviceVersion = 4;
constexpr uint32_t kDeviceAbi = kDeviceVersion << 24 | uint32_t(sizeof(Work)) << 8 | kKernels;

// Under such a name modules hand a Device* to each other; behind the prefix is kDeviceAbi.
constexpr char kDeviceNamePrefix[] = "crayon_hf.gpu.Device/";
inline const char* device_name() {
    static const std::string name = kDeviceNamePrefix + std::to_string(kDeviceAbi);
    return name.c_str();
}

enum class Status : uint32_t {
    ok,
    out_of_memory,  // the device's or pinned memory
    unusable,       // no driver, no device, one that this build has no code for
    lost,           // nothing more can be done with it in this process
    failed,         // this call; others, and the same one another time, may succeed
};

// The device's own. Null is its default stream, which other libraries use; ours do not wait for it, nor it for them.
using Stream = void*;

class Device {
  public:
    virtual ~Device() = default;
    virtual const char* kind() const = 0;  // "cuda", "rocm", "host"
    virtual const char* name() const = 0;  // of the model
    virtual int index() const = 0;
    // What the last call in this thread that was not ok has to say. The others may be called by several threads at a
    // time, each with a stream of its own.
    virtual const char* error() const = 0;

    virtual Status memory(size_t* free, size_t* total) = 0;
    virtual Status allocate(size_t bytes, void** memory) = 0;
    virtual void release(void* memory) = 0;
    // Of memory that was allocated with `room` bytes, the first so many are used now, and no others. For devices that
    // watch it.
    virtual void show_use(void* memory, size_t bytes, size_t room) { (void)memory, (void)bytes, (void)room; }
    // Of the host, for copies that go on beside other work.
    virtual Status allocate_pinned(size_t bytes, void** memory) = 0;
    virtual void release_pinned(void* memory) = 0;

    virtual Status open_stream(Stream* stream) = 0;
    virtual void close_stream(Stream stream) = 0;
    // What is put into `stream` from here on begins when all that `other` has now is done. `other` may be another
    // library's.
    virtual Status after(Stream stream, Stream other) = 0;
    // Whether it reaches this memory, allocated by whatever library.
    virtual bool owns(const void* memory) = 0;
    virtual Status to_device(void* to, const void* from, size_t bytes, Stream stream) = 0;
    virtual Status to_host(void* to, const void* from, size_t bytes, Stream stream) = 0;
    virtual Status copy(void* to, const void* from, size_t bytes, Stream stream) = 0;
    virtual Status zero(void* to, size_t bytes, Stream stream) = 0;
    // `blocks` of them; nothing when that is 0.
    virtual Status launch(Kernel kernel, uint32_t blocks, const Work& work, Stream stream) = 0;
    // Until all of the stream is done.
    virtual Status wait(Stream stream) = 0;

    // From now on, or no longer: what each kernel takes.
    virtual void time_kernels(bool /*on*/) {}
    // Adds to nanoseconds[kKernels] what took those that are done and were not asked for yet. It does not wait. Kernels
    // of several streams at a time have each other's time in theirs. A device that cannot tell adds nothing.
    virtual Status take_kernel_times(uint64_t* /*nanoseconds*/) { return Status::ok; }
};

}  // namespace gpu
}  // namespace crayon
