// tiktoken's rank files: reads and writes them, and converts them to the vocabulary of a tokenizer.json.
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/formats/rank_file.h"

namespace py = pybind11;

namespace {

// Returns the tokens and ranks of a file. Returns None if a token is repeated, or if a line has another form than the
// one that `rank_file` writes.
py::object read_rank_file(const py::bytes& data) {
    py::dict ranks;
    std::string token;
    std::string_view rest = data;
    size_t lines = 0;
    for (int64_t rank = 0; !rest.empty(); ++lines) {
        if (!crayon::take_rank_line(&rest, &token, &rank)) return py::none();
        ranks[py::bytes(token)] = rank;
    }
    if (lines == 0 || ranks.size() != lines) return py::none();
    return std::move(ranks);
}

// Tokens as bytes objects, and their ids. take() returns false for other types.
struct Ranked {
    std::vector<std::string_view> tokens;
    std::vector<int64_t> ids;

    bool take(const py::list& token_list, const py::list& id_list) {
        if (token_list.size() != id_list.size()) return false;
        tokens.reserve(token_list.size());
        ids.reserve(id_list.size());
        for (size_t i = 0; i < token_list.size(); ++i) {
            PyObject* const token = PyList_GET_ITEM(token_list.ptr(), Py_ssize_t(i));
            PyObject* const id = PyList_GET_ITEM(id_list.ptr(), Py_ssize_t(i));
            int overflow = 0;
            if (!PyBytes_CheckExact(token) || !PyLong_CheckExact(id)) return false;
            ids.push_back(PyLong_AsLongLongAndOverflow(id, &overflow));
            if (overflow != 0) return false;
            tokens.emplace_back(PyBytes_AS_STRING(token), size_t(PyBytes_GET_SIZE(token)));
        }
        return true;
    }
};

py::object rank_file(const py::list& tokens, const py::list& ranks) {
    Ranked ranked;
    if (!ranked.take(tokens, ranks)) return py::none();
    std::string lines;
    for (size_t i = 0; i < ranked.tokens.size(); ++i) crayon::append_rank_line(ranked.tokens[i], ranked.ids[i], &lines);
    return py::bytes(lines);
}

py::bytes vocabulary_of_ranks(const py::list& tokens, const py::list& ids, const py::dict& specials) {
    Ranked ranked;
    if (!ranked.take(tokens, ids)) throw py::type_error("tokens must be bytes, and ids must be ints that fit 64 bits");
    std::vector<std::pair<std::string, int64_t>> others;
    for (const auto& [content, id] : specials) others.emplace_back(content.cast<std::string>(), id.cast<int64_t>());
    std::string text;
    {
        const py::gil_scoped_release release;
        text = crayon::vocabulary_of_ranks(ranked.tokens, ranked.ids, others);
    }
    return text;
}

}  // namespace

void bind_ranks(py::module_& m) {
    m.def("read_rank_file", &read_rank_file, py::arg("data"),
          "Return the tokens and ranks of a rank file, or None unless it has the form that `rank_file` writes.");
    m.def("rank_file", &rank_file, py::arg("tokens"), py::arg("ranks"),
          "Return the text of a rank file, or None unless the keys are bytes and the ranks 64-bit ints.");
    m.def("vocabulary_of_ranks", &vocabulary_of_ranks, py::arg("tokens"), py::arg("ids"), py::arg("specials"),
          "Return the members \"vocab\" and \"merges\" of a tokenizer.json. Tokens and special tokens must be in order "
          "of id.");
}
