// Merges few symbols, whose ranks and places fit one vector of words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encode/merger/merge.h"

namespace crayon {

constexpr size_t kFewBits = 5, kFewSymbols = size_t(1) << kFewBits;
static_assert(kMaxMerges < INT32_MAX >> kFewBits, "a rank leaves room for a place");
constexpr int32_t kNoKey = INT32_MAX;

// A number that orders merges by rank, then by the place of the left symbol; rank 5 at place 2 is 5 << kFewBits | 2.
// Returns kNoKey if the pair does not merge.
inline int32_t few_key(uint32_t rank, size_t place) {
    return rank == kNoRank ? kNoKey : int32_t(rank << kFewBits | place);
}

// Merges in place; symbols keep their slots. `keys` has few_key of each symbol with its successor, kSlots of them, so
// that the least is found without a branch. `sizes`, if not null, gets the number of symbols that each of the result
// has merged. `*last` gets the rank of the last merge. Returns how many symbols are left.
template <size_t kSlots>
size_t merge_slots(const MergeTables& tables, uint32_t* symbols, int32_t* keys, size_t n, uint32_t* sizes,
                   uint32_t* last) {
    uint8_t next[kSlots + 1], previous[kSlots + 1];
    for (size_t i = 0; i <= kSlots; ++i) {
        next[i] = uint8_t(i + 1);
        previous[i] = uint8_t(i - 1);
    }
    const auto key = [&](size_t i, size_t j) {
        return j < n ? few_key(tables.rank(symbols[i], symbols[j]), i) : kNoKey;
    };
    for (;;) {
        int32_t least = kNoKey;
        for (size_t i = 0; i < kSlots; ++i) least = keys[i] < least ? keys[i] : least;
        if (least == kNoKey) break;
        const size_t at = size_t(least) & (kFewSymbols - 1), gone = next[at], after = next[gone];
        *last = uint32_t(least) >> kFewBits;
        symbols[at] = tables.products[*last];
        keys[gone] = kNoKey;
        next[at] = uint8_t(after);
        previous[after] = uint8_t(at);
        keys[at] = key(at, after);
        if (at > 0) keys[previous[at]] = key(previous[at], at);
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i = next[i]) {
        if (sizes != nullptr) sizes[count] = uint32_t(next[i] - i);
        symbols[count++] = symbols[i];
    }
    return count;
}

}  // namespace crayon
