// Merging in arrays small enough for the first-level cache: the least rank is found by a scan, the gap closed by a
// move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bpe/merge.h"

namespace crayon {

// In place, until `stop` symbols (at least one) are left or nothing merges; returns how many are left. `ranks`: of each
// symbol with the next, kept up to date.
inline size_t merge_scan(const MergeTables& tables, uint32_t* symbols, uint32_t* ranks, size_t n, size_t stop) {
    while (n > stop) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; ++i)
            if (ranks[i] < ranks[best]) best = i;
        if (ranks[best] == kNoRank) break;
        symbols[best] = tables.products[ranks[best]];
        std::memmove(symbols + best + 1, symbols + best + 2, (n - best - 2) * sizeof *symbols);
        if (n - best > 2) std::memmove(ranks + best, ranks + best + 1, (n - best - 2) * sizeof *ranks);
        --n;
        if (best + 1 < n) ranks[best] = tables.rank(symbols[best], symbols[best + 1]);
        if (best > 0) ranks[best - 1] = tables.rank(symbols[best - 1], symbols[best]);
    }
    return n;
}

}  // namespace crayon
