// Reuses a device's memory. Drivers are slow to allocate, and stop all work to free memory.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device_error.h"

namespace crayon {
namespace gpu {

// Thread-safe. Before memory is given back, all work that uses it must be done.
class Pool {
  public:
    // `beside` is another pool, or null. It frees its kept memory when the device has none left.
    explicit Pool(Device* device, std::shared_ptr<Pool> beside = nullptr)
        : device_(device), beside_(std::move(beside)) {}
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() { trim(); }

    Device& device() const { return *device_; }

    // Rounds a size up by at most an eighth, so that a slightly larger batch can reuse the memory of the previous one.
    static size_t rounded(size_t bytes) {
        constexpr size_t kLeast = 256;
        size_t power = kLeast;
        while (power <= bytes / 2) power *= 2;
        const size_t step = std::max(kLeast, power / 8);
        return std::max(kLeast, (bytes + step - 1) / step * step);
    }

    // Returns memory of at least `bytes` bytes, and sets `room` to its size. Throws DeviceError.
    void* take(size_t bytes, bool is_pinned, size_t* room) {
        const size_t wanted = rounded(bytes);
        if (void* const kept = take_kept(bytes, wanted + wanted / 4, is_pinned, room)) return kept;
        void* memory = nullptr;
        *room = wanted;
        Status status = allocate(wanted, is_pinned, &memory);
        if (status == Status::out_of_memory) {
            trim();
            if (beside_ != nullptr) beside_->trim();
            status = allocate(*room = bytes, is_pinned, &memory);
        }
        check(*device_, status, "allocating memory");
        const std::lock_guard<std::mutex> lock(mutex_);
        shelves_[is_pinned].used += *room;
        return memory;
    }

    // Keeps the memory for reuse, unless the pool already keeps too much.
    void give(void* memory, size_t room, bool is_pinned) {
        std::vector<Block> too_much;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            Shelf& shelf = shelves_[is_pinned];
            shelf.used -= room;
            shelf.kept += room;
            shelf.blocks.push_back({memory, room});
            size_t n = 0;
            for (; shelf.kept > kMostKept; ++n) shelf.kept -= shelf.blocks[n].room;
            too_much.assign(shelf.blocks.begin(), shelf.blocks.begin() + ptrdiff_t(n));
            shelf.blocks.erase(shelf.blocks.begin(), shelf.blocks.begin() + ptrdiff_t(n));
        }
        for (const Block& block : too_much) release(block, is_pinned);
    }

    // Returns the memory to the device, which waits for all running work.
    void give_up(void* memory, size_t room, bool is_pinned) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            shelves_[is_pinned].used -= room;
        }
        release({memory, room}, is_pinned);
    }

    // Returns unused memory to the device.
    void trim() {
        for (const bool is_pinned : {false, true}) {
            std::vector<Block> blocks;
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                blocks.swap(shelves_[is_pinned].blocks);
                shelves_[is_pinned].kept = 0;
            }
            for (const Block& block : blocks) release(block, is_pinned);
        }
    }

    // The device's memory that is kept or in use.
    size_t bytes() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return shelves_[false].kept + shelves_[false].used;
    }

  private:
    static constexpr size_t kMostKept = size_t(256) << 20;  // of each kind, in addition to memory in use

    struct Block {
        void* memory;
        size_t room;
    };
    struct Shelf {
        std::vector<Block> blocks;  // longest kept first
        size_t kept = 0, used = 0;  // bytes
    };

    void* take_kept(size_t least, size_t most, bool is_pinned, size_t* room) {
        const std::lock_guard<std::mutex> lock(mutex_);
        Shelf& shelf = shelves_[is_pinned];
        auto best = shelf.blocks.end();
        for (auto block = shelf.blocks.begin(); block != shelf.blocks.end(); ++block)
            if (block->room >= least && block->room <= most &&
                (best == shelf.blocks.end() || block->room <= best->room))
                best = block;
        if (best == shelf.blocks.end()) return nullptr;
        const Block found = *best;
        shelf.blocks.erase(best);
        shelf.kept -= found.room;
        shelf.used += found.room;
        *room = found.room;
        return found.memory;
    }
    Status allocate(size_t bytes, bool is_pinned, void** memory) {
        return is_pinned ? device_->allocate_pinned(bytes, memory) : device_->allocate(bytes, memory);
    }
    void release(const Block& block, bool is_pinned) {
        is_pinned ? device_->release_pinned(block.memory) : device_->release(block.memory);
    }

    Device* const device_;
    const std::shared_ptr<Pool> beside_;
    mutable std::mutex mutex_;
    Shelf shelves_[2];
};

using PoolPtr = std::shared_ptr<Pool>;

}  // namespace gpu
}  // namespace crayon
