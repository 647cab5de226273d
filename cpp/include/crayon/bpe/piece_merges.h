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
    // Ranges of pairs of one piece, in which one pair ends as another begins.
    std::vector<Range> entangled;
    // Ranges of pairs of pieces with equal scores, in any order.
    std::vector<Range> equal;
};

// Returns nothing if a part of a piece is a single character that has no piece, if scores include both zeros, or if one
// is NaN.
std::optional<PieceMerges> merges_by_score(const std::vector<std::string_view>& pieces,
                                           const std::vector<double>& scores);

}  // namespace crayon
