// The merges of SentencePiece's BPE models, where they follow from the scores alone.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "unicode/utf8_chars.h"

namespace py = pybind11;

namespace {

struct Pieces {
    std::vector<PyObject*> objects;  // borrowed from the dict
    std::vector<std::string_view> texts;
    std::vector<double> scores;
    std::unordered_map<std::string_view, uint32_t> indices;

    explicit Pieces(const py::dict& entries) {
        objects.reserve(entries.size());
        texts.reserve(entries.size());
        scores.reserve(entries.size());
        indices.reserve(entries.size());
        for (const auto& [text, score] : entries) {
            Py_ssize_t size = 0;
            const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
            if (data == nullptr) throw py::error_already_set();
            objects.push_back(text.ptr());
            texts.emplace_back(data, size_t(size));
            scores.push_back(score.cast<double>());
            indices.emplace(texts.back(), uint32_t(texts.size() - 1));
        }
    }
};

// The two parts of a piece, by their indices: those with a longer left part come first.
struct Cuts {
    uint32_t piece;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
};

// False when a part is a single character that is no piece.
bool find_cuts(const Pieces& pieces, uint32_t piece, std::vector<std::pair<uint32_t, uint32_t>>* pairs) {
    const crayon::Bytes text(pieces.texts[piece]);
    const size_t first = text.empty() ? 0 : crayon::char_size(text, 0);
    for (size_t cut = first; cut < text.size; cut += crayon::char_size(text, cut)) {
        const auto left = pieces.indices.find(text.slice(0, cut).view());
        const auto right = pieces.indices.find(text.slice(cut, text.size).view());
        const bool is_left = left != pieces.indices.end(), is_right = right != pieces.indices.end();
        const bool has_right = is_right || cut + crayon::char_size(text, cut) == text.size;
        if (is_left && is_right)
            pairs->emplace_back(left->second, right->second);
        else if ((is_left || cut == first) && has_right)
            return false;
    }
    std::reverse(pairs->begin(), pairs->end());
    return true;
}

bool is_entangled(const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& one) {
        return std::any_of(pairs.begin(), pairs.end(), [&](const auto& other) { return one.first == other.second; });
    });
}

py::object merges_by_score(const py::dict& scores) {
    const Pieces pieces(scores);
    std::vector<Cuts> found;
    for (uint32_t i = 0; i < pieces.texts.size(); ++i) {
        Cuts cuts{i, {}};
        if (!find_cuts(pieces, i, &cuts.pairs)) return py::none();
        if (cuts.pairs.empty()) continue;
        if (std::isnan(pieces.scores[i])) return py::none();
        found.push_back(std::move(cuts));
    }
    const auto score_of = [&](const Cuts& cuts) { return pieces.scores[cuts.piece]; };
    std::sort(found.begin(), found.end(), [&](const Cuts& a, const Cuts& b) { return score_of(a) > score_of(b); });
    py::list merges, entangled, equal;
    for (size_t i = 0; i < found.size();) {
        const size_t first = i, begin = merges.size();
        for (; i < found.size() && score_of(found[i]) == score_of(found[first]); ++i)
            for (const auto& [left, right] : found[i].pairs)
                merges.append(py::make_tuple(py::handle(pieces.objects[left]), py::handle(pieces.objects[right])));
        if (i - first > 1) {
            if (score_of(found[first]) == 0) return py::none();  // zeros of both signs are two scores
            equal.append(py::make_tuple(begin, merges.size()));
        } else if (is_entangled(found[first].pairs)) {
            entangled.append(py::make_tuple(begin, merges.size()));
        }
    }
    return py::make_tuple(merges, entangled, equal);
}

}  // namespace

void bind_pieces(py::module_& m) {
    m.def("merges_by_score", &merges_by_score, py::arg("scores"),
          "The pairs that make pieces, the best piece first, a longer left part first. Where those of a piece stand of "
          "which one ends as another begins, and those of several pieces of one score, in any order. None where a part "
          "is a single character that is no piece, and for pieces of both zeros.");
}
