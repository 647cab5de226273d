// Converts tiktoken's ranks to merges.
//
// A rank file has no merges: tiktoken merges two neighbours if their joined bytes have a rank, lowest rank first. If
// token t appears in the encoding of a text, no merge crossed t's borders, so its bytes merged exactly as they do
// alone. The same last pair therefore always makes t. One pair per token, at the token's rank, is equivalent to the
// rank file.
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

// `tokens` are in order of rank; gaps between ranks do not matter. Returns one merge, in order of rank, for each token
// of two bytes or more that merging its bytes gives. Throws Error(vocabulary) on an empty or duplicate token, or if a
// single byte is missing.
std::vector<RankMerge> merges_from_ranks(const std::vector<std::string_view>& tokens);

}  // namespace crayon
