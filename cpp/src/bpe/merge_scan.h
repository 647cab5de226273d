// Merges in arrays that fit the first-level cache: a scan finds the least rank, a move closes the gap.
//
// Example: the symbols l o w with the ranks 0 (l+o) and none (o+w). After one merge, they are lo w with the rank of
// lo+w.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bpe/merge.h"

namespace crayon {

// Merges in place until `stop` (at least one) symbols are left or nothing merges. Returns how many are left. `ranks`
// has the rank of each symbol with its successor, and is kept up to date.
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
