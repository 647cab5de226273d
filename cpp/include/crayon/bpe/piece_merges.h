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

    // The parts of each piece, as indices of pieces. Sorted by the piece's score, then by the longer left part.
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    // Ranges that hold all pairs of one piece, if the left part of one pair is the right part of another.
    std::vector<Range> entangled;
    // Ranges that hold the pairs of several pieces with equal scores, in any order.
    std::vector<Range> equal;
};

// Returns nothing if a part of a piece is a single character that is not a piece, if scores include both zeros, or if
// one is NaN.
std::optional<PieceMerges> merges_by_score(const std::vector<std::string_view>& pieces,
                                           const std::vector<double>& scores);

}  // namespace crayon
