// Counts pairs of symbols in a hash table that grows, with linear probing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/prefetch.h"

namespace crayon {

// Keys are ordered as (first, second).
inline uint64_t symbol_pair(uint32_t first, uint32_t second) {
    return uint64_t(first) << 32 | second;
}

// Symbols have 31 bits, so the key has two free bits:
// | 63       | 62 to 32 | 31         | 30 to 0 |
// | kCreated | first    | kRecreated | second  |
class PairCount {
  public:
    uint64_t count = 0;  // modulo 2^64: it can fall below zero (see BpeTraining::merge_at)

    PairCount() = default;
    explicit PairCount(uint64_t key) : bits_(key) {}
    uint64_t key() const { return bits_ & ~kCreations; }
    bool is_empty() const { return bits_ == ~uint64_t(0); }
    bool is_positive() const { return int64_t(count) > 0; }
    // Records that the pair came into existence, by a merge or at the start.
    void create() { bits_ |= bits_ & kCreated ? kRecreated : kCreated; }
    bool is_recreated() const { return (bits_ & kRecreated) != 0; }

  private:
    static constexpr uint64_t kCreated = uint64_t(1) << 63, kRecreated = uint64_t(1) << 31;
    static constexpr uint64_t kCreations = kCreated | kRecreated;
    uint64_t bits_ = ~uint64_t(0);
};
static_assert(sizeof(PairCount) == 16);

class PairCounts {
  public:
    PairCounts() : slots_(size_t(1) << kFirstBits) {}

    // Valid until the next call.
    PairCount& at(uint64_t key) {
        if (used_ >= slots_.size() / 4 * 3) grow();
        PairCount& slot = find(key);
        if (slot.is_empty()) {
            slot = PairCount(key);
            ++used_;
        }
        return slot;
    }
    void prefetch_at(uint64_t key) const { prefetch(&slots_[place(key)]); }

  private:
    static constexpr int kFirstBits = 12;

    size_t place(uint64_t key) const { return size_t(key * 0x9E3779B97F4A7C15u >> shift_); }
    PairCount& find(uint64_t key) {
        for (size_t i = place(key);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].is_empty() || slots_[i].key() == key) return slots_[i];
        }
    }
    void grow() {
        std::vector<PairCount> old(slots_.size() * 2);
        old.swap(slots_);
        --shift_;
        for (const PairCount& pair : old) {
            if (!pair.is_empty()) find(pair.key()) = pair;
        }
    }

    std::vector<PairCount> slots_;
    int shift_ = 64 - kFirstBits;
    size_t used_ = 0;
};

}  // namespace crayon
