// The merges of SentencePiece's BPE models, derived from the scores of their pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace crayon {

struct PieceMerges {
    using Range = std::pair<size_t, size_t>;  // indices into `pairs`: [first, second)

    // Each pair of pieces (left, right) whose concatenation is a piece, as indices into the vocabulary. Sorted by the
    // score of the concatenation, then by the longer left part.
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    // Each range holds all pairs that form one piece. Lists only pieces for which the left part of one pair is the
    // right part of another.
    std::vector<Range> entangled;
    // Each range holds the pairs that form several pieces with equal scores. Their order is arbitrary.
    std::vector<Range> equal;
};

// Returns nothing if a part of a piece is a single character that is not a piece, if scores include both 0.0 and -0.0,
// or if one is NaN.
std::optional<PieceMerges> merges_by_score(const std::vector<std::string_view>& pieces,
                                           const std::vector<double>& scores);

}  // namespace crayon
