// Lists of the positions of pairs of symbols, in one block of memory. Memory of finished lists is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "support/zeroed_memory.h"

namespace crayon {

class PositionLists {
  public:
    using Place = uint64_t;  // index of a list's first position

    // Makes room for `capacity` positions in all lists together. Pages are touched when needed.
    explicit PositionLists(size_t capacity) : memory_(capacity * sizeof(uint32_t) + 64), capacity_(capacity) {
        if (memory_.data() == nullptr) throw std::bad_alloc();
    }

    Place take(size_t size) {
        while (!free_.empty() && free_.back().size < size) {
            if (free_.back().size > kScrap && size > kLarge) break;  // keep it for shorter lists
            free_.pop_back();
        }
        if (!free_.empty() && free_.back().size >= size) {
            Range& range = free_.back();
            const Place place = range.place;
            range.place += size;
            range.size -= size;
            return place;
        }
        if (size > capacity_ - used_) throw std::bad_alloc();
        used_ += size;
        return used_ - size;
    }
    void give_back(Place place, size_t size) {
        if (size > kScrap) free_.push_back({place, size});
    }
    uint32_t* at(Place place) { return static_cast<uint32_t*>(memory_.data()) + place; }

  private:
    static constexpr size_t kScrap = 16, kLarge = 256;
    struct Range {
        Place place;
        size_t size;
    };

    ZeroedMemory memory_;
    size_t capacity_, used_ = 0;
    std::vector<Range> free_;
};

}  // namespace crayon
