// A pool of memory blocks. One lease at a time owns a block, and the block returns to the pool only when that lease
// ends.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace crayon {

class BufferPool {
    struct Block {
        void* data = nullptr;
        size_t capacity = 0;
    };
    // Shared by the pool and its leases, which may outlive the pool. A shelf only tries its lock: in the child of a
    // fork(), a lock that another thread of the parent held would never be released. If the lock is taken, the caller
    // allocates or frees memory directly.
    class Shelf {
      public:
        Shelf(size_t blocks, size_t largest) : blocks_(blocks), largest_(largest) { free_.reserve(blocks); }
        ~Shelf() {
            for (const Block& block : free_) std::free(block.data);
        }
        Shelf(const Shelf&) = delete;
        Shelf& operator=(const Shelf&) = delete;

        Block take() {
            const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
            if (!lock.owns_lock() || free_.empty()) return {};
            const Block block = free_.back();
            free_.pop_back();
            return block;
        }
        void give(Block block) {
            if (block.capacity > 0 && block.capacity <= largest_) {
                const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
                if (lock.owns_lock() && free_.size() < blocks_) return free_.push_back(block);
            }
            std::free(block.data);
        }

      private:
        const size_t blocks_, largest_;
        std::mutex mutex_;
        std::vector<Block> free_;
    };

  public:
    // Keeps at most `blocks` blocks of at most `largest` bytes.
    BufferPool(size_t blocks, size_t largest) : shelf_(std::make_shared<Shelf>(blocks, largest)) {}

    // Exclusive use of one block. Movable, not copyable.
    class Lease {
      public:
        Lease() = default;
        Lease(Lease&& other) noexcept : shelf_(std::move(other.shelf_)), block_(std::exchange(other.block_, Block())) {}
        Lease& operator=(Lease&& other) noexcept {
            std::swap(shelf_, other.shelf_);
            std::swap(block_, other.block_);
            return *this;
        }
        ~Lease() {
            if (shelf_ != nullptr) shelf_->give(block_);
        }

        void* data() const { return block_.data; }
        size_t capacity() const { return block_.capacity; }
        // Grows the block to `bytes`, keeping its contents.
        void reserve(size_t bytes) {
            if (bytes <= block_.capacity) return;
            void* larger = std::realloc(block_.data, bytes);
            if (larger == nullptr) throw std::bad_alloc();
            block_ = {larger, bytes};
        }
        // For a container that grows with std::realloc: the container takes the memory, and returns its final block
        // with adopt().
        void* release() { return std::exchange(block_, Block()).data; }
        void adopt(void* data, size_t capacity) {
            std::free(block_.data);
            block_ = {data, capacity};
        }

      private:
        friend class BufferPool;
        Lease(std::shared_ptr<Shelf> shelf, Block block) : shelf_(std::move(shelf)), block_(block) {}
        std::shared_ptr<Shelf> shelf_;
        Block block_;
    };

    // A lease of a free block, which may have no memory yet.
    Lease lease() { return Lease(shelf_, shelf_->take()); }

  private:
    std::shared_ptr<Shelf> shelf_;
};

}  // namespace crayon
