#include "crayon/formats/piece_merges.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
using Indices = std::unordered_map<std::string_view, uint32_t>;

// Finds the pairs of parts that form a piece, longer left parts first. Returns false if a part is a single character
// that is not a piece.
bool find_cuts(const Indices& indices, Bytes piece, Pairs* pairs) {
    const size_t first = piece.empty() ? 0 : char_size(piece, 0);
    for (size_t cut = first; cut < piece.size; cut += char_size(piece, cut)) {
        const auto left = indices.find(piece.slice(0, cut).view());
        const auto right = indices.find(piece.slice(cut, piece.size).view());
        const bool is_left = left != indices.end(), is_right = right != indices.end();
        if (is_left && is_right) {
            pairs->emplace_back(left->second, right->second);
            continue;
        }
        const bool has_left = is_left || cut == first;
        const bool has_right = is_right || cut + char_size(piece, cut) == piece.size;
        if (has_left && has_right) return false;
    }
    std::reverse(pairs->begin(), pairs->end());
    return true;
}

bool is_entangled(const Pairs& pairs) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& one) {
        return std::any_of(pairs.begin(), pairs.end(), [&](const auto& other) { return one.first == other.second; });
    });
}

}  // namespace

std::optional<PieceMerges> merges_by_score(const std::vector<std::string_view>& pieces,
                                           const std::vector<double>& scores) {
    struct Made {
        double score;
        Pairs pairs;
    };
    Indices indices;
    indices.reserve(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) indices.emplace(pieces[i], uint32_t(i));
    std::vector<Made> made;
    for (size_t i = 0; i < pieces.size(); ++i) {
        Pairs pairs;
        if (!find_cuts(indices, pieces[i], &pairs)) return std::nullopt;
        if (pairs.empty()) continue;
        if (std::isnan(scores[i])) return std::nullopt;
        made.push_back({scores[i], std::move(pairs)});
    }
    std::sort(made.begin(), made.end(), [](const Made& a, const Made& b) { return a.score > b.score; });
    PieceMerges merges;
    for (size_t i = 0; i < made.size();) {
        const size_t first = i, begin = merges.pairs.size();
        for (; i < made.size() && made[i].score == made[first].score; ++i)
            merges.pairs.insert(merges.pairs.end(), made[i].pairs.begin(), made[i].pairs.end());
        if (i - first > 1) {
            if (made[first].score == 0) return std::nullopt;  // zeros of both signs count as two scores
            merges.equal.emplace_back(begin, merges.pairs.size());
        } else if (is_entangled(made[first].pairs)) {
            merges.entangled.emplace_back(begin, merges.pairs.size());
        }
    }
    return merges;
}

}  // namespace crayon
