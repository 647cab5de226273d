// The merges that happen, in a table that is searched without a branch.
//
// Merging makes each token that it makes in one way, whatever the text: as long as no merge crosses the borders of what
// will be the token, its bytes merge as if they stood alone. So a merge happens somewhere only if it is the last one of
// merging its product's own bytes. The others can be left out of the search: where such a pair stands, one of lower
// rank, or further left, always comes first. A vocabulary that was made from ranks lists twice as many merges as
// happen.
//
// The table is a perfect hash (hash and displace, D. Belazzougui, F. Botelho and M. Dietzfelbinger, 2009): the hash of
// a pair names a pilot, which is a number that spreads the pairs with this pilot over places that no other pair has.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bpe/merge.h"
#include "crayon/cartridge/cartridge.h"

namespace crayon {

struct ReachableMerges {
    std::vector<uint16_t> pilots;
    std::vector<uint64_t> slots;  // as in pair_table, or kEmptyPair
};

// Of a token of more bytes than this every merge counts as one that happens.
constexpr size_t kLongestTraced = 256;

// Merges the bytes of a token, 1 to kLongestTraced, as Merger::merge_whole does. `*last` gets the merge that made one
// token of them, kNoRank when they are several or were one byte.
size_t merge_traced(const MergeTables& tables, Bytes bytes, uint32_t* out, uint32_t* last);

// The ranks of the merges that happen, in order. `tokens` has the bytes of every id that text can become, and is empty
// for others. `last` has the results of merge_traced for tokens that are short enough, else kNoRank.
std::vector<uint32_t> reachable_ranks(const MergeTables& tables, const std::vector<std::string_view>& tokens,
                                      const std::vector<uint32_t>& last);
// The same, with nothing known of the tokens.
std::vector<uint32_t> reachable_ranks(const MergeTables& tables, const std::vector<std::string_view>& tokens);

// Both are empty if no merge happens, or if merges were made to collide.
ReachableMerges build_reachable_merges(const MergeTables& tables, const std::vector<uint32_t>& ranks);
// The same of all merges, the slots of a pair_table.
ReachableMerges build_reachable_merges(const std::vector<uint64_t>& slots);

}  // namespace crayon
