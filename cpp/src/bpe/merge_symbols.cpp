// Merges symbols that are not bytes, by the sweeps and windows of merge.cpp.
#include <algorithm>

#include "bpe/merge.h"
#include "crayon/support/error.h"

namespace crayon {

size_t Merger::merge_window(const MergeTables& tables, const uint32_t* symbols, size_t size, uint32_t* out,
                            uint32_t* starts) {
    if (size >= kNone) throw Error(ErrorKind::argument, "a pretoken of 4 GiB or more cannot be merged");
    const uint32_t n = uint32_t(size);
    symbol_.assign(symbols, symbols + n);
    next_.resize(n);
    previous_.resize(n);
    rank_.resize(n);
    for (uint32_t i = 0; i < n; ++i) {
        next_[i] = i + 1 < n ? i + 1 : kNone;
        previous_[i] = i > 0 ? i - 1 : kNone;
        rank_[i] = i + 1 < n ? tables.rank(symbols[i], symbols[i + 1]) : kNoRank;
    }
    try {
        if (!sweep(tables)) heap(tables);
    } catch (...) {  // out of memory: waiting positions must not reach the next pretoken
        waiting_.clear();
        ranks_ = RankSet();
        throw;
    }
    size_t count = 0;
    for (uint32_t i = 0; i != kNone; i = next_[i]) {
        out[count] = symbol_[i];
        starts[count++] = i;
    }
    return count;
}

// Windows are exact by the argument at Merger::merge, which does not depend on symbols being bytes.
size_t Merger::merge_symbols(const MergeTables& tables, const uint32_t* symbols, size_t size, uint32_t* out,
                             uint32_t* starts) {
    size_t end = std::min(size, kWindow), overlap = kOverlap;
    size_t n = merge_window(tables, symbols, end, out, starts);
    const uint32_t *merged = symbols, *merged_end = symbols;  // the symbols of the m ids in window_
    size_t m = 0;
    while (end < size) {
        size_t left = n, start = end;
        while (left > 0 && end - start < overlap) start = starts[--left];
        const size_t stop = std::min(size, end + std::max(kWindow, 2 * overlap) - overlap);
        const uint32_t* const window = symbols + start;
        if (!std::equal(window, symbols + stop, merged, merged_end)) {
            window_.resize(stop - start);
            window_starts_.resize(stop - start);
            m = merge_window(tables, window, stop - start, window_.data(), window_starts_.data());
            merged = window;
            merged_end = symbols + stop;
        }
        size_t right = 0;
        if (left > 0) {
            // A token that begins and ends at the same symbols in both windows.
            const auto end_of = [](const uint32_t* all, size_t i, size_t count, size_t last) -> size_t {
                return i + 1 < count ? all[i + 1] : last;
            };
            const auto common = [&] {
                return starts[left] == start + window_starts_[right] && out[left] == window_[right] &&
                       end_of(starts, left, n, end) == start + end_of(window_starts_.data(), right, m, stop - start);
            };
            while (left < n && right < m && !common()) {
                const size_t left_at = starts[left], right_at = start + window_starts_[right];
                left += left_at <= right_at;
                right += right_at <= left_at;
            }
            if (left == n || right == m) {
                overlap *= 2;
                continue;
            }
        }
        for (; right < m; ++right, ++left) {
            out[left] = window_[right];
            starts[left] = uint32_t(start + window_starts_[right]);
        }
        n = left;
        end = stop;
        overlap = kOverlap;
    }
    return n;
}

}  // namespace crayon
