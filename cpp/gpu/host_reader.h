// Copies a device's memory to the host through pinned memory, slice by slice, in several threads. While one thread
// copies out of its slice, the device fills the slice of another.
#pragma once

#include <memory>
#include <vector>

#include "memory.h"

namespace crayon {
namespace gpu {

class HostReader {
  public:
    explicit HostReader(PoolPtr pool) : pool_(std::move(pool)) {}

    // Copies `bytes` bytes, which must be complete at `from`. Make one call at a time. Copying is slower if no memory
    // can be pinned. Throws DeviceError.
    void read(void* to, const void* from, size_t bytes);
    // Returns the pinned memory to the pool.
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
