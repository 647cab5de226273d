// Binds merges_by_score, which derives the merges of SentencePiece's models.
#include <pybind11/pybind11.h>

#include <string_view>
#include <vector>

#include "crayon/formats/piece_merges.h"

namespace py = pybind11;

namespace {

py::list ranges_of(const std::vector<crayon::PieceMerges::Range>& ranges) {
    py::list out;
    for (const auto& [begin, end] : ranges) out.append(py::make_tuple(begin, end));
    return out;
}

py::object merges_by_score(const py::dict& entries) {
    std::vector<PyObject*> objects;  // borrowed from the dict
    std::vector<std::string_view> pieces;
    std::vector<double> scores;
    for (const auto& [piece, score] : entries) {
        Py_ssize_t size = 0;
        const char* const text = PyUnicode_AsUTF8AndSize(piece.ptr(), &size);
        if (text == nullptr) throw py::error_already_set();
        objects.push_back(piece.ptr());
        pieces.emplace_back(text, size_t(size));
        scores.push_back(score.cast<double>());
    }
    const auto merges = crayon::merges_by_score(pieces, scores);
    if (!merges) return py::none();
    py::list pairs(merges->pairs.size());
    for (size_t i = 0; i < merges->pairs.size(); ++i) {
        const auto [left, right] = merges->pairs[i];
        pairs[i] = py::make_tuple(py::handle(objects[left]), py::handle(objects[right]));
    }
    return py::make_tuple(pairs, ranges_of(merges->entangled), ranges_of(merges->equal));
}

}  // namespace

void bind_pieces(py::module_& m) {
    m.def("merges_by_score", &merges_by_score, py::arg("scores"),
          "Return the pairs that make pieces, sorted by the piece's score, then by the longer left part. Also return "
          "two kinds of ranges: pairs of one piece in which one ends as another begins, and pairs of pieces with equal "
          "scores, in any order. Return None if a part is a single character that has no piece, or if scores include "
          "both zeros.");
}
