// The way from a device's memory to the host's: through pinned memory, a slice at a time, by several threads. While one
// copies out of its slice, the next slice is on its way to another's.
#pragma once

#include <memory>
#include <vector>

#include "memory.h"

namespace crayon {
namespace gpu {

class HostReader {
  public:
    explicit HostReader(PoolPtr pool) : pool_(std::move(pool)) {}

    // What `from` has is complete. One call at a time; afterwards `to` has it. Where no memory can be pinned it takes
    // longer. DeviceError.
    void read(void* to, const void* from, size_t bytes);
    // Gives the pinned memory back to the pool.
    void trim() { slices_.clear(); }

  private:
    struct Slice {
        explicit Slice(const PoolPtr& pool) : memory(pool), stream(&pool->device()) {}
        Buffer<uint8_t, true> memory;
        OwnStream stream;
    };
    void read_part(Slice* slice, uint8_t* to, const uint8_t* from, size_t bytes);

    PoolPtr pool_;
    std::vector<std::unique_ptr<Slice>> slices_;
};

}  // namespace gpu
}  // namespace crayon
