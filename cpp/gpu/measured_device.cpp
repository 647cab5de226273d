#include "measured_device.h"

#include <algorithm>
#include <chrono>

namespace crayon {
namespace gpu {

const char* kernel_name(Kernel kernel) {
    static constexpr const char* kNames[] = {
#define CRAYON_NAME(name, ...) #name,
        CRAYON_KERNELS(CRAYON_NAME)
#undef CRAYON_NAME
    };
    return kNames[size_t(kernel)];
}

MeasuredDevice::MeasuredDevice(Device* inner) : inner_(inner) {
    inner_->time_kernels(true);
}

MeasuredDevice::~MeasuredDevice() {
    inner_->time_kernels(false);
}

Measures MeasuredDevice::measures() {
    const std::lock_guard<std::mutex> lock(mutex_);
    take_times();
    return all_;
}

// Ignores failures of measurements: they do not affect the work, only the times.
void MeasuredDevice::take_times() {
    std::array<uint64_t, kKernels> nanoseconds{};
    (void)inner_->take_kernel_times(nanoseconds.data());
    for (size_t i = 0; i < kKernels; ++i) all_.kernels[i].nanoseconds += nanoseconds[i];
}

Status MeasuredDevice::add(Measures::Sum Measures::*sum, size_t bytes, Status status) {
    if (status == Status::ok) {
        const std::lock_guard<std::mutex> lock(mutex_);
        (all_.*sum).add(bytes);
    }
    return status;
}

Status MeasuredDevice::allocate(size_t bytes, void** memory) {
    const Status status = add(&Measures::allocated, bytes, inner_->allocate(bytes, memory));
    if (status != Status::ok) return status;
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[*memory] = bytes;
    all_.held += bytes;
    all_.most_held = std::max(all_.most_held, all_.held);
    return status;
}

void MeasuredDevice::release(void* memory) {
    if (memory != nullptr) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++all_.released;
        const auto found = sizes_.find(memory);
        if (found != sizes_.end()) {
            all_.held -= found->second;
            sizes_.erase(found);
        }
    }
    inner_->release(memory);
}

Status MeasuredDevice::allocate_pinned(size_t bytes, void** memory) {
    return add(&Measures::allocated_pinned, bytes, inner_->allocate_pinned(bytes, memory));
}

void MeasuredDevice::release_pinned(void* memory) {
    if (memory != nullptr) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++all_.released_pinned;
    }
    inner_->release_pinned(memory);
}

Status MeasuredDevice::to_device(void* to, const void* from, size_t bytes, Stream stream) {
    return add(&Measures::to_device, bytes, inner_->to_device(to, from, bytes, stream));
}

Status MeasuredDevice::to_host(void* to, const void* from, size_t bytes, Stream stream) {
    return add(&Measures::to_host, bytes, inner_->to_host(to, from, bytes, stream));
}

Status MeasuredDevice::copy(void* to, const void* from, size_t bytes, Stream stream) {
    return add(&Measures::copied, bytes, inner_->copy(to, from, bytes, stream));
}

Status MeasuredDevice::zero(void* to, size_t bytes, Stream stream) {
    return add(&Measures::zeroed, bytes, inner_->zero(to, bytes, stream));
}

Status MeasuredDevice::launch(Kernel kernel, uint32_t blocks, const Work& work, Stream stream) {
    const Status status = inner_->launch(kernel, blocks, work, stream);
    if (status != Status::ok) return status;
    const std::lock_guard<std::mutex> lock(mutex_);
    Measures::OfKernel& own = all_.kernels[size_t(kernel)];
    ++own.launches;
    own.blocks += blocks;
    return status;
}

Status MeasuredDevice::wait(Stream stream) {
    const auto started = std::chrono::steady_clock::now();
    const Status status = inner_->wait(stream);
    const auto took = std::chrono::steady_clock::now() - started;
    const std::lock_guard<std::mutex> lock(mutex_);
    ++all_.waits;
    all_.wait_nanoseconds += uint64_t(std::chrono::nanoseconds(took).count());
    take_times();  // releases events for reuse
    return status;
}

}  // namespace gpu
}  // namespace crayon
