// From tiktoken's ranks to merges.
//
// A rank file has no merges: tiktoken merges two neighbours when their joined bytes have a rank, lowest rank first. In
// any text, the bytes that end up as token t merge among themselves exactly as if they stood alone, since no merge
// crosses t's borders. So t is always made by the same last pair: the one that makes it when t's own bytes are merged
// alone. One pair per token, at the token's rank, is thus equivalent to the rank file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace crayon {

struct RankMerge {
    uint32_t left;  // index into tokens
    uint32_t right;
    uint32_t product;
};

// `tokens` in order of rank (rank gaps do not matter). One entry for each token of two bytes or more that merging can
// reach, in order of rank. Error(vocabulary) on an empty or duplicate token or when a single byte is missing.
std::vector<RankMerge> merges_from_ranks(const std::vector<std::string_view>& tokens);

}  // namespace crayon
