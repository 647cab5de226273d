// The merges of SentencePiece's BPE models, where they follow from the scores alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace crayon {

struct PieceMerges {
    using Range = std::pair<size_t, size_t>;  // of `pairs`: from the first up to the second

    // The parts that make a piece, by their indices: the best piece first, then a longer left part.
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    // Those of one piece of which one ends as another begins.
    std::vector<Range> entangled;
    // Those of several pieces of one score, in any order.
    std::vector<Range> equal;
};

// Nothing where a part is a single character that is no piece, for pieces of both zeros, and for scores that are NaN.
std::optional<PieceMerges> merges_by_score(const std::vector<std::string_view>& pieces,
                                           const std::vector<double>& scores);

}  // namespace crayon
