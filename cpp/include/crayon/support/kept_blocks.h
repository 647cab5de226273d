// Keeps the memory of a large freed result for the next one. The system clears new pages, which costs up to a third of
// the time of encoding into them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "crayon/support/huge_pages.h"

namespace crayon {

constexpr size_t kMostKeptBytes = size_t(1) << 25;  // of one block

// Lock-free, because a lock could stay taken for ever in the child of a fork. A block stores its size in its first
// bytes.
inline std::atomic<void*> kept_blocks[2];
inline std::atomic<size_t> kept_block_bytes{0};

// Keeps a block from std::malloc, or frees it.
inline void keep_block(void* block, size_t bytes) {
    if (bytes >= kHugePage && bytes <= kMostKeptBytes) {
        std::memcpy(block, &bytes, sizeof bytes);
        for (std::atomic<void*>& place : kept_blocks) {
            void* none = nullptr;
            kept_block_bytes.fetch_add(bytes, std::memory_order_relaxed);
            if (place.compare_exchange_strong(none, block, std::memory_order_release, std::memory_order_relaxed))
                return;
            kept_block_bytes.fetch_sub(bytes, std::memory_order_relaxed);
        }
    }
    std::free(block);
}

inline void* take_kept_block(std::atomic<void*>& place, size_t* bytes) {
    if (place.load(std::memory_order_relaxed) == nullptr) return nullptr;
    void* const block = place.exchange(nullptr, std::memory_order_acquire);
    if (block == nullptr) return nullptr;
    std::memcpy(bytes, block, sizeof *bytes);
    kept_block_bytes.fetch_sub(*bytes, std::memory_order_relaxed);
    return block;
}

// Returns a kept block of `least` to about twice `least` bytes, or null if none fits.
inline void* take_kept_block(size_t least, size_t* bytes) {
    if (least < kHugePage || least > kMostKeptBytes) return nullptr;
    for (std::atomic<void*>& place : kept_blocks) {
        void* const block = take_kept_block(place, bytes);
        if (block == nullptr) continue;
        if (*bytes >= least && *bytes / 2 <= least) return block;
        keep_block(block, *bytes);
    }
    return nullptr;
}

inline void free_kept_blocks() {
    size_t bytes = 0;
    for (std::atomic<void*>& place : kept_blocks) std::free(take_kept_block(place, &bytes));
}

}  // namespace crayon
