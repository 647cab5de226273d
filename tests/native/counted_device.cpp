// A device that counts: what it counts, and that the device behind it does the work.
#include <cstring>
#include <memory>

#include "check.h"
#include "gpu/host_device.h"
#include "gpu/measured_device.h"

using namespace crayon::gpu;

TEST(memory_is_counted_as_it_is_held) {
    const std::unique_ptr<Device> inner = make_host_device(1000);
    MeasuredDevice device(inner.get());
    void *first = nullptr, *second = nullptr, *third = nullptr;
    CHECK(device.allocate(600, &first) == Status::ok);
    CHECK(device.allocate(300, &second) == Status::ok);
    CHECK(device.allocate(200, &third) == Status::out_of_memory);
    device.release(first);
    device.release(nullptr);
    CHECK(device.allocate(200, &third) == Status::ok);
    Measures all = device.measures();
    CHECK(all.allocated.calls == 3 && all.allocated.bytes == 1100);
    CHECK(all.released == 1);
    CHECK(all.held == 500 && all.most_held == 900);
    size_t free = 0, total = 0;
    CHECK(device.memory(&free, &total) == Status::ok);
    CHECK(free == 500 && total == 1000);
    device.release(second);
    device.release(third);
    all = device.measures();
    CHECK(all.held == 0 && all.most_held == 900 && all.released == 3);
    void* pinned = nullptr;
    CHECK(device.allocate_pinned(50, &pinned) == Status::ok);
    device.release_pinned(pinned);
    all = device.measures();
    CHECK(all.allocated_pinned.calls == 1 && all.allocated_pinned.bytes == 50 && all.released_pinned == 1);
    CHECK(all.held == 0);
}

TEST(copies_are_counted_by_direction) {
    const std::unique_ptr<Device> inner = make_host_device(1000);
    MeasuredDevice device(inner.get());
    void *a = nullptr, *b = nullptr;
    CHECK(device.allocate(8, &a) == Status::ok && device.allocate(8, &b) == Status::ok);
    char back[8] = "";
    CHECK(device.to_device(a, "abcdefg", 8, nullptr) == Status::ok);
    CHECK(device.copy(b, a, 8, nullptr) == Status::ok);
    CHECK(device.zero(b, 2, nullptr) == Status::ok);
    CHECK(device.to_host(back, b, 7, nullptr) == Status::ok);
    CHECK(device.wait(nullptr) == Status::ok);
    CHECK(std::memcmp(back, "\0\0cdefg", 7) == 0);
    const Measures all = device.measures();
    CHECK(all.to_device.calls == 1 && all.to_device.bytes == 8);
    CHECK(all.copied.calls == 1 && all.copied.bytes == 8);
    CHECK(all.zeroed.calls == 1 && all.zeroed.bytes == 2);
    CHECK(all.to_host.calls == 1 && all.to_host.bytes == 7);
    CHECK(all.waits == 1);
    device.release(a);
    device.release(b);
}

TEST(kernels_are_timed_while_somebody_measures) {
    const std::unique_ptr<Device> inner = make_host_device(1 << 20);
    uint32_t bits[2] = {0, 0}, words[2] = {0, 0};
    uint64_t offsets[2] = {0, 40};
    Work work{};
    work.size = 40;
    work.offsets = offsets;
    work.n_documents = 1;
    work.segments = bits;
    work.documents = words;
    uint64_t nanoseconds[kKernels] = {};
    {
        MeasuredDevice device(inner.get());
        CHECK(device.launch(Kernel::mark_documents, MarkDocuments::blocks(work), work, nullptr) == Status::ok);
        const Measures all = device.measures();
        const Measures::OfKernel& own = all.kernels[size_t(Kernel::mark_documents)];
        CHECK(own.launches == 1 && own.blocks == MarkDocuments::blocks(work));
        CHECK(own.nanoseconds > 0);
        CHECK(all.kernels[size_t(Kernel::write_ids)].launches == 0);
        CHECK(std::strcmp(kernel_name(Kernel::mark_documents), "mark_documents") == 0);
        CHECK(inner->take_kernel_times(nanoseconds) == Status::ok);
        CHECK(nanoseconds[size_t(Kernel::mark_documents)] == 0);  // it is taken
    }
    CHECK(inner->launch(Kernel::mark_documents, MarkDocuments::blocks(work), work, nullptr) == Status::ok);
    CHECK(inner->take_kernel_times(nanoseconds) == Status::ok);
    CHECK(nanoseconds[size_t(Kernel::mark_documents)] == 0);
    CHECK((bits[0] & 1) != 0 && (words[1] >> 8 & 1) != 0);
}
