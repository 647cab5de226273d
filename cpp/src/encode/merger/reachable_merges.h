// The merges that can happen, in a table that is searched without a branch.
//
// Every text makes a token by the same last merge. Until a merge crosses the token's borders, its bytes merge as they
// do alone. So a merge can happen only if it is the last one when its product's own bytes are merged. All others can be
// left out: another pair of lower rank, or farther left, always merges first. A tokenizer.json that was converted from
// tiktoken's ranks lists twice as many merges as can happen.
//
// Example: with the merges a+b (rank 0), ab+c (1), b+c (2) and a+bc (3), the last never happens: in "abc", a+b merges
// first.
//
// The table is a perfect hash (hash and displace, D. Belazzougui, F. Botelho and M. Dietzfelbinger, 2009). The hash of
// a pair names a pilot, a number that gives each of its pairs a slot of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "encode/merger/merge.h"

namespace crayon {

struct ReachableMerges {
    std::vector<uint16_t> pilots;
    std::vector<uint64_t> slots;  // as in pair_table, or kEmptyPair
};

// All merges of longer tokens count as reachable.
constexpr size_t kLongestTraced = 256;

// The ranks of the reachable merges, in order. `tokens` has the bytes of every id that text can become, empty for other
// ids. `last` has the merge that completes the bytes of each token of up to kLongestTraced bytes, or kNoRank.
std::vector<uint32_t> reachable_ranks(const MergeTables& tables, const std::vector<std::string_view>& tokens,
                                      const std::vector<uint32_t>& last);
// Returns the same ranks, and computes `last` itself.
std::vector<uint32_t> reachable_ranks(const MergeTables& tables, const std::vector<std::string_view>& tokens);

// Both arrays are empty if no merge is reachable, or if merges were crafted to collide.
ReachableMerges build_reachable_merges(const MergeTables& tables, const std::vector<uint32_t>& ranks);
// Builds the table for all merges, from the slots of a pair_table.
ReachableMerges build_reachable_merges(const std::vector<uint64_t>& slots);

}  // namespace crayon
