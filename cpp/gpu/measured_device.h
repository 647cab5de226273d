// A device that counts its calls and forwards them to another device.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "device.h"

namespace crayon {
namespace gpu {

struct Measures {
    struct Sum {
        uint64_t calls = 0, bytes = 0;
        void add(uint64_t n) {
            ++calls;
            bytes += n;
        }
    };
    struct OfKernel {
        uint64_t launches = 0, blocks = 0, nanoseconds = 0;
    };
    Sum allocated, allocated_pinned, to_device, to_host, copied, zeroed;
    uint64_t released = 0, released_pinned = 0;
    uint64_t held = 0, most_held = 0;  // bytes of the device's memory
    uint64_t waits = 0, wait_nanoseconds = 0;
    std::array<OfKernel, kKernels> kernels;
};

// Returns the kernel's name in CRAYON_KERNELS.
const char* kernel_name(Kernel kernel);

class MeasuredDevice : public Device {
  public:
    // Times the kernels of `inner` from now on, also kernels that other users of `inner` start. `inner` must outlive
    // this object.
    explicit MeasuredDevice(Device* inner);
    ~MeasuredDevice() override;

    // Returns the counts since construction, and the times of finished kernels.
    Measures measures();

    const char* kind() const override { return inner_->kind(); }
    const char* name() const override { return inner_->name(); }
    int index() const override { return inner_->index(); }
    const char* error() const override { return inner_->error(); }

    Status memory(size_t* free, size_t* total) override { return inner_->memory(free, total); }
    Status allocate(size_t bytes, void** memory) override;
    void release(void* memory) override;
    void show_use(void* memory, size_t bytes, size_t room) override { inner_->show_use(memory, bytes, room); }
    Status allocate_pinned(size_t bytes, void** memory) override;
    void release_pinned(void* memory) override;

    Status open_stream(Stream* stream) override { return inner_->open_stream(stream); }
    void close_stream(Stream stream) override { inner_->close_stream(stream); }
    Status after(Stream stream, Stream other) override { return inner_->after(stream, other); }
    bool owns(const void* memory) override { return inner_->owns(memory); }
    Status to_device(void* to, const void* from, size_t bytes, Stream stream) override;
    Status to_host(void* to, const void* from, size_t bytes, Stream stream) override;
    Status copy(void* to, const void* from, size_t bytes, Stream stream) override;
    Status zero(void* to, size_t bytes, Stream stream) override;
    Status launch(Kernel kernel, uint32_t blocks, const Work& work, Stream stream) override;
    Status wait(Stream stream) override;

  private:
    Status add(Measures::Sum Measures::*sum, size_t bytes, Status status);
    void take_times();

    Device* const inner_;
    std::mutex mutex_;
    Measures all_;
    std::unordered_map<void*, size_t> sizes_;  // of held allocations
};

}  // namespace gpu
}  // namespace crayon
