// A growing array of ids that leaves reserved memory uninitialized and can hand its memory over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "crayon/support/huge_pages.h"
#include "crayon/support/kept_blocks.h"

namespace crayon {

template <typename Id>
class GrowingIds {
  public:
    GrowingIds() = default;
    // Takes ownership of memory from std::malloc.
    GrowingIds(Id* data, size_t capacity) : data_(data), capacity_(capacity) {}
    ~GrowingIds() { std::free(data_); }
    GrowingIds(GrowingIds&& other) noexcept : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
        other.release();
    }
    GrowingIds& operator=(GrowingIds&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    GrowingIds(const GrowingIds&) = delete;

    Id* data() { return data_; }
    const Id* data() const { return data_; }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    Id* end() { return data_ + size_; }

    // Makes room for `more` ids past the end. Write them at end(), then call advance().
    void reserve_more(size_t more) {
        if (capacity_ - size_ < more) grow(size_ + more);
    }
    void advance(size_t n) { size_ += n; }
    void shrink_by(size_t n) { size_ -= n; }
    void push(Id id) {
        reserve_more(1);
        data_[size_++] = id;
    }
    void append(const Id* ids, size_t n) {
        if (n == 0) return;
        reserve_more(n);
        std::memcpy(end(), ids, n * sizeof *ids);
        size_ += n;
    }
    void clear() { size_ = 0; }
    // Frees the memory if its capacity exceeds `limit` ids.
    void trim(size_t limit) {
        if (capacity_ > limit) {
            std::free(data_);
            release();
        }
    }
    // Returns the memory to kept_blocks.h for the next result.
    void keep() {
        const size_t bytes = capacity_ * sizeof *data_;
        keep_block(release(), bytes);
    }
    // The caller frees it with std::free.
    Id* release() {
        Id* data = data_;
        data_ = nullptr;
        size_ = capacity_ = 0;
        return data;
    }
    void shrink_to_fit() {
        if (size_ == capacity_ || size_ == 0) return;
        if (void* smaller = std::realloc(data_, size_ * sizeof *data_)) {
            data_ = static_cast<Id*>(smaller);
            capacity_ = size_;
        }
    }

  private:
    void grow(size_t needed) {
        size_t capacity = capacity_ + capacity_ / 2;
        if (capacity < needed) capacity = needed;
        if (capacity < 1024) capacity = 1024;
        if (capacity > SIZE_MAX / sizeof *data_ - kHugePage) throw std::bad_alloc();
        // In whole large pages, so that a kept block fits the next result of about the same size.
        constexpr size_t kStep = kHugePage / sizeof(Id);
        if (capacity > kStep) capacity = (capacity + kStep - 1) / kStep * kStep;
        size_t kept = 0;
        void* larger = take_kept_block(capacity * sizeof *data_, &kept);
        if (larger != nullptr)
            capacity = kept / sizeof *data_;
        else
            larger = huge_memory(capacity * sizeof *data_);  // null for small sizes
        if (larger != nullptr) {
            if (size_ > 0) std::memcpy(larger, data_, size_ * sizeof *data_);
            std::free(data_);
        } else {
            larger = std::realloc(data_, capacity * sizeof *data_);
            if (larger == nullptr) throw std::bad_alloc();
        }
        data_ = static_cast<Id*>(larger);
        capacity_ = capacity;
    }

    Id* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

using IdBuffer = GrowingIds<int32_t>;

}  // namespace crayon
