#include "host_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define CRAYON_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CRAYON_ASAN 1
#endif
#endif
#ifdef CRAYON_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace crayon {
namespace gpu {
namespace {

constexpr size_t kFront = 64;  // bytes in front of each block of memory, where its size is stored

template <typename K>
void run_all_blocks(uint32_t blocks, const Work& work) {
    const auto shared = std::make_unique<typename K::Shared>();
    for (uint32_t i = 0; i < blocks; ++i) K::run(Block<K::kThreads>(i), work, *shared);
}

void run_kernel(Kernel kernel, uint32_t blocks, const Work& work) {
    switch (kernel) {
#define CRAYON_RUN(name, ...)                      \
    case Kernel::name:                             \
        run_all_blocks<__VA_ARGS__>(blocks, work); \
        break;
        CRAYON_KERNELS(CRAYON_RUN)
#undef CRAYON_RUN
    }
}

std::string& last_error() {
    thread_local std::string error;
    return error;
}

size_t* front_of(void* memory) {
    return reinterpret_cast<size_t*>(static_cast<char*>(memory) - kFront);
}

}  // namespace

const char* name_of(HostCall call) {
    switch (call) {
#define CRAYON_NAME(name) \
    case HostCall::name:  \
        return #name;
        CRAYON_DEVICE_CALLS(CRAYON_NAME)
#undef CRAYON_NAME
    }
    return "";
}

HostDevice::HostDevice(HostDeviceOptions options) : options_(std::move(options)) {
    streams_[nullptr] = std::make_shared<Queue>();
}

HostDevice::~HostDevice() {
    run_all();
}

const char* HostDevice::error() const {
    return last_error().c_str();
}

void HostDevice::fail(HostCall call, uint64_t calls, Status status, uint64_t times) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t first = counts_.calls[size_t(call)] + calls + 1;
    failures_[size_t(call)] = {first, first + times - 1, status};
}

void HostDevice::take_away(size_t bytes, bool is_told) {
    const std::lock_guard<std::mutex> lock(mutex_);
    taken_ = bytes;
    hidden_ = is_told ? 0 : bytes;
}

HostDevice::Counts HostDevice::counts() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_;
}

Status HostDevice::begin(HostCall call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t number = ++counts_.calls[size_t(call)];
    const Failure& failure = failures_[size_t(call)];
    if (is_lost_) {
        last_error() = "the device failed before; this process cannot use it any more";
        return Status::lost;
    }
    if (failure.status == Status::ok || number < failure.first || number > failure.last) return Status::ok;
    last_error() = std::string("call ") + std::to_string(number) + " of " + name_of(call) + " fails for a test";
    is_lost_ = failure.status == Status::lost;
    return failure.status;
}

// -- memory

Status HostDevice::memory(size_t* free, size_t* total) {
    const Status status = begin(HostCall::memory);
    if (status != Status::ok) return status;
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t gone = counts_.used + taken_ - hidden_;
    *free = options_.budget > gone ? options_.budget - gone : 0;
    *total = options_.budget;
    return Status::ok;
}

Status HostDevice::allocate_block(HostCall call, size_t bytes, void** memory) {
    *memory = nullptr;
    const Status status = begin(call);
    if (status != Status::ok) return status;
    const bool is_pinned = call == HostCall::allocate_pinned;
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t gone = counts_.used + taken_, free = options_.budget > gone ? options_.budget - gone : 0;
    if (!is_pinned && bytes > free) {
        last_error() = std::to_string(bytes) + " bytes requested, " + std::to_string(free) + " are free";
        return Status::out_of_memory;
    }
    auto* const block = static_cast<size_t*>(std::malloc(bytes + kFront));
    if (block == nullptr) {
        last_error() = "no memory";
        return Status::out_of_memory;
    }
    *block = bytes;
    size_t& used = is_pinned ? counts_.pinned : counts_.used;
    size_t& most = is_pinned ? counts_.most_pinned : counts_.most_used;
    used += bytes;
    most = std::max(most, used);
    *memory = reinterpret_cast<char*>(block) + kFront;
    std::memset(*memory, 0xFF, bytes);  // A device's memory is not zeroed. As a position or a count, 0xFF is far out of
                                        // range.
    return Status::ok;
}

Status HostDevice::allocate(size_t bytes, void** memory) {
    return allocate_block(HostCall::allocate, bytes, memory);
}

Status HostDevice::allocate_pinned(size_t bytes, void** memory) {
    return allocate_block(HostCall::allocate_pinned, bytes, memory);
}

void HostDevice::show_use(void* memory, size_t bytes, size_t room) {
#ifdef CRAYON_ASAN
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    ASAN_POISON_MEMORY_REGION(static_cast<char*>(memory) + bytes, room - bytes);
#else
    (void)memory, (void)bytes, (void)room;
#endif
}

void HostDevice::release(void* memory) {
    if (memory == nullptr) return;
    (void)begin(HostCall::release);
    run_all();  // as a GPU's driver does
    size_t* const block = front_of(memory);
    show_use(memory, *block, *block);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        counts_.used -= *block;
    }
    std::free(block);
}

void HostDevice::release_pinned(void* memory) {
    if (memory == nullptr) return;
    run_all();
    size_t* const block = front_of(memory);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        counts_.pinned -= *block;
    }
    std::free(block);
}

// -- streams

std::shared_ptr<HostDevice::Queue> HostDevice::queue_of(Stream stream) {
    // DLPack and CUDA also use 1 for the default stream.
    const auto found = streams_.find(stream == reinterpret_cast<Stream>(1) ? nullptr : stream);
    return found != streams_.end() ? found->second : nullptr;
}

void HostDevice::run(Queue* queue, uint64_t until) {
    while (queue->done < until && !queue->work.empty()) {
        const std::function<void()> work = std::move(queue->work.front());
        queue->work.pop_front();
        work();
        ++queue->done;
    }
}

void HostDevice::run_all() {
    const std::lock_guard<std::recursive_mutex> lock(streams_mutex_);
    for (auto& stream : streams_) run(stream.second.get(), stream.second->put);
}

template <typename F>
Status HostDevice::put(HostCall call, Stream stream, F&& work) {
    const Status status = begin(call);
    if (status != Status::ok) return status;
    if (!options_.is_deferred) {
        work();
        return Status::ok;
    }
    const std::lock_guard<std::recursive_mutex> lock(streams_mutex_);
    const std::shared_ptr<Queue> queue = queue_of(stream);
    if (queue == nullptr) {
        last_error() = "no such stream";
        return Status::failed;
    }
    queue->work.emplace_back(std::forward<F>(work));
    ++queue->put;
    return Status::ok;
}

Status HostDevice::open_stream(Stream* stream) {
    *stream = nullptr;
    const Status status = begin(HostCall::open_stream);
    if (status != Status::ok) return status;
    auto queue = std::make_shared<Queue>();
    *stream = queue.get();
    {
        const std::lock_guard<std::recursive_mutex> lock(streams_mutex_);
        streams_[*stream] = std::move(queue);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_.streams;
    return Status::ok;
}

void HostDevice::close_stream(Stream stream) {
    if (stream == nullptr) return;
    {
        const std::lock_guard<std::recursive_mutex> lock(streams_mutex_);
        const std::shared_ptr<Queue> queue = queue_of(stream);
        if (queue == nullptr) return;
        run(queue.get(), queue->put);
        streams_.erase(stream);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    --counts_.streams;
}

Status HostDevice::after(Stream stream, Stream other) {
    std::shared_ptr<Queue> queue;
    uint64_t until = 0;
    {
        const std::lock_guard<std::recursive_mutex> lock(streams_mutex_);
        queue = queue_of(other);
        if (queue != nullptr) until = queue->put;
    }
    return put(HostCall::after, stream, [=] {
        if (queue != nullptr) run(queue.get(), until);
    });
}

Status HostDevice::to_device(void* to, const void* from, size_t bytes, Stream stream) {
    if (bytes == 0) return Status::ok;
    return put(HostCall::to_device, stream, [=] { std::memmove(to, from, bytes); });
}

Status HostDevice::to_host(void* to, const void* from, size_t bytes, Stream stream) {
    if (bytes == 0) return Status::ok;
    return put(HostCall::to_host, stream, [=] { std::memmove(to, from, bytes); });
}

Status HostDevice::copy(void* to, const void* from, size_t bytes, Stream stream) {
    if (bytes == 0) return Status::ok;
    return put(HostCall::copy, stream, [=] { std::memmove(to, from, bytes); });
}

Status HostDevice::zero(void* to, size_t bytes, Stream stream) {
    if (bytes == 0) return Status::ok;
    return put(HostCall::zero, stream, [=] { std::memset(to, 0, bytes); });
}

Status HostDevice::launch(Kernel kernel, uint32_t blocks, const Work& work, Stream stream) {
    const Status status = put(HostCall::launch, stream, [=] {
        std::string wrong;
        const auto started = std::chrono::steady_clock::now();
        if (options_.run)
            wrong = options_.run(kernel, blocks, work);
        else
            run_kernel(kernel, blocks, work);
        const auto took = std::chrono::steady_clock::now() - started;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!wrong.empty()) fault_ = wrong;
        if (times_kernels_) nanoseconds_[size_t(kernel)] += uint64_t(std::chrono::nanoseconds(took).count());
    });
    return status == Status::ok ? faulted() : status;
}

// Reports a kernel's fault at the next call, as a GPU does.
Status HostDevice::faulted() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fault_.empty()) return Status::ok;
    last_error() = fault_;
    is_lost_ = true;
    return Status::lost;
}

void HostDevice::time_kernels(bool on) {
    const std::lock_guard<std::mutex> lock(mutex_);
    times_kernels_ = on;
}

Status HostDevice::take_kernel_times(uint64_t* nanoseconds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < kKernels; ++i) nanoseconds[i] += std::exchange(nanoseconds_[i], 0);
    return Status::ok;
}

Status HostDevice::wait(Stream stream) {
    const Status status = begin(HostCall::wait);
    if (status != Status::ok) return status;
    const std::lock_guard<std::recursive_mutex> lock(streams_mutex_);
    if (const std::shared_ptr<Queue> queue = queue_of(stream)) run(queue.get(), queue->put);
    return faulted();
}

std::unique_ptr<Device> make_host_device(size_t budget, RunKernel run) {
    HostDeviceOptions options;
    options.budget = budget;
    options.run = std::move(run);
    return std::make_unique<HostDevice>(std::move(options));
}

}  // namespace gpu
}  // namespace crayon
