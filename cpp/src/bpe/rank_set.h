// A set of merge ranks with fast access to the least: a tree of 64-bit words, in which each bit says that a word below
// is not empty. Insertion and removal touch four words (P. van Emde Boas's idea with a fan-out of 64).
//
// Example: rank 70 is bit 6 of word 1 on the lowest level, and bit 1 of word 0 on the next.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "support/bits.h"

namespace crayon {

class RankSet {
  public:
    // Makes room for ranks below n. The set must be empty.
    void resize(size_t n) {
        for (auto& level : levels_) {
            n = (n + 63) / 64;
            if (level.size() < n) level.resize(n, 0);
        }
    }
    bool empty() const { return levels_[kLevels - 1].empty() || levels_[kLevels - 1][0] == 0; }
    void insert(uint32_t rank) {
        for (auto& level : levels_) {
            level[rank >> 6] |= uint64_t(1) << (rank & 63);
            rank >>= 6;
        }
    }
    // Removes and returns the least rank. The set must not be empty.
    uint32_t pop_least() {
        uint32_t at = 0;
        for (int level = kLevels - 1; level >= 0; --level) at = at << 6 | lowest_set_bit(levels_[level][at]);
        uint32_t rank = at;
        for (auto& level : levels_) {
            uint64_t& word = level[rank >> 6];
            word &= word - 1;  // clears the lowest bit
            if (word != 0) break;
            rank >>= 6;
        }
        return at;
    }

  private:
    static constexpr int kLevels = 4;
    static_assert(uint64_t(kMaxMerges) < (uint64_t(1) << (6 * kLevels)), "the top level is one word");

    std::vector<uint64_t> levels_[kLevels];
};

}  // namespace crayon
