// Zeroed memory that begins at a cache line. Uses large pages for kHugePage bytes or more, if the system has them.
// Unused pages cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "crayon/support/huge_pages.h"
#include "support/spare_tables.h"

namespace crayon {

class ZeroedMemory {
  public:
    ZeroedMemory() = default;
    // The block is empty if no memory is available.
    explicit ZeroedMemory(size_t bytes) : bytes_(bytes) {
        const bool is_huge = bytes >= kHugePage;
        const size_t alignment = is_huge ? kHugePage : 64;
        block_ = is_huge ? take_spare_table(bytes) : nullptr;
        const bool is_spare = block_ != nullptr;
        if (!is_spare) block_ = std::calloc(bytes + alignment, 1);
        if (block_ == nullptr) return;
        data_ = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(block_) + alignment - 1) & ~(alignment - 1));
        if (is_spare)
            std::memset(data_, 0, bytes);
        else if (is_huge)
            advise_huge_pages(data_, bytes);
    }
    ~ZeroedMemory() { std::free(block_); }
    ZeroedMemory(ZeroedMemory&& other) noexcept { swap(other); }
    ZeroedMemory& operator=(ZeroedMemory&& other) noexcept {
        swap(other);
        return *this;
    }

    void* data() const { return data_; }
    size_t bytes() const { return block_ == nullptr ? 0 : bytes_; }
    // Gives up the memory. A large block is kept for the next table of its size (spare_tables.h).
    void retire() {
        if (bytes_ >= kHugePage && block_ != nullptr) give_spare_table(std::exchange(block_, nullptr), bytes_);
        data_ = nullptr;
    }

  private:
    void swap(ZeroedMemory& other) {
        std::swap(block_, other.block_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
    }

    void* block_ = nullptr;
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace crayon
