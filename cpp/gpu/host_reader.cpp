#include "host_reader.h"

#include <cstring>

#include "crayon/support/cores.h"
#include "encode/run/task_runner.h"

namespace crayon {
namespace gpu {
namespace {

constexpr size_t kSlice = size_t(4) << 20, kMostReaders = 4;

}  // namespace

void HostReader::read_part(Slice* slice, uint8_t* to, const uint8_t* from, size_t bytes) {
    Device& device = pool_->device();
    uint8_t* const pinned = slice->memory.data();
    check(device, device.to_host(pinned != nullptr ? pinned : to, from, bytes, slice->stream), "reading results");
    slice->stream.wait("reading results");
    if (pinned != nullptr) std::memcpy(to, pinned, bytes);
}

void HostReader::read(void* to, const void* from, size_t bytes) {
    if (bytes == 0) return;
    const size_t parts = (bytes + kSlice - 1) / kSlice;
    const size_t readers = std::min({parts, kMostReaders, usable_cores()});
    while (slices_.size() < readers) slices_.push_back(std::make_unique<Slice>(pool_));
    for (size_t i = 0; i < readers; ++i) {
        try {
            slices_[i]->memory.make_room(std::min(bytes, kSlice));
        } catch (const DeviceError& error) {
            if (error.status() != Status::out_of_memory) throw;
        }
    }
    const auto work = [&](size_t part, size_t reader, const Poll&) {
        const size_t at = part * kSlice;
        read_part(slices_[reader].get(), static_cast<uint8_t*>(to) + at, static_cast<const uint8_t*>(from) + at,
                  std::min(kSlice, bytes - at));
    };
    try {
        run_watched(parts, readers, work, [] {});
    } catch (...) {
        trim();  // waits for running copies
        throw;
    }
}

}  // namespace gpu
}  // namespace crayon
