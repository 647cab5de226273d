// How often pairs of symbols occur: a hash table that grows, with linear probing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "prefetch.h"

namespace crayon {

// The order of keys is that of (first, second).
inline uint64_t pair_key(uint32_t first, uint32_t second) {
    return uint64_t(first) << 32 | second;
}

struct PairCount {
    uint64_t key;
    int64_t count : 62;      // can fall below zero: see Merging::merge_at
    uint64_t creations : 2;  // merges that made it anew; three are as good as more
};
static_assert(sizeof(PairCount) == 16);

class PairCounts {
  public:
    PairCounts() : slots_(size_t(1) << kFirstBits, kEmpty) {}

    // Valid until the next call.
    PairCount& at(uint64_t key) {
        if (used_ >= slots_.size() / 4 * 3) grow();
        PairCount& slot = find(key);
        if (slot.key != key) {
            slot = {key, 0, 0};
            ++used_;
        }
        return slot;
    }
    void prefetch_at(uint64_t key) const { prefetch(&slots_[place(key)]); }
    size_t size() const { return used_; }
    template <typename Visit>
    void for_each(Visit&& visit) {
        for (PairCount& slot : slots_) {
            if (slot.key != kEmpty.key) visit(slot);
        }
    }

  private:
    static constexpr int kFirstBits = 12;
    static constexpr PairCount kEmpty = {~uint64_t(0), 0, 0};

    size_t place(uint64_t key) const { return size_t(key * 0x9E3779B97F4A7C15u >> shift_); }
    PairCount& find(uint64_t key) {
        for (size_t i = place(key);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].key == key || slots_[i].key == kEmpty.key) return slots_[i];
        }
    }
    void grow() {
        std::vector<PairCount> old(slots_.size() * 2, kEmpty);
        old.swap(slots_);
        --shift_;
        for (const PairCount& pair : old) {
            if (pair.key != kEmpty.key) find(pair.key) = pair;
        }
    }

    std::vector<PairCount> slots_;
    int shift_ = 64 - kFirstBits;
    size_t used_ = 0;
};

}  // namespace crayon
