// Zeroed memory at the start of a cache line; from kHugePage on, in large pages where the system has them. Pages cost
// nothing until they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "crayon/support/huge_pages.h"

namespace crayon {

class ZeroedMemory {
  public:
    ZeroedMemory() = default;
    // Empty when there is no memory.
    explicit ZeroedMemory(size_t bytes) {
        const bool is_huge = bytes >= kHugePage;
        const size_t alignment = is_huge ? kHugePage : 64;
        block_ = std::calloc(bytes + alignment, 1);
        if (block_ == nullptr) return;
        data_ = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(block_) + alignment - 1) & ~(alignment - 1));
        if (is_huge) advise_huge_pages(data_, bytes);
    }
    ~ZeroedMemory() { std::free(block_); }
    ZeroedMemory(ZeroedMemory&& other) noexcept { swap(other); }
    ZeroedMemory& operator=(ZeroedMemory&& other) noexcept {
        swap(other);
        return *this;
    }

    void* data() const { return data_; }

  private:
    void swap(ZeroedMemory& other) {
        std::swap(block_, other.block_);
        std::swap(data_, other.data_);
    }

    void* block_ = nullptr;
    void* data_ = nullptr;
};

}  // namespace crayon
