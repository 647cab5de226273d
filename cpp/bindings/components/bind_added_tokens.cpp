// Writes the added tokens of a tokenizer.json.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crayon/json/added_tokens_text.h"

namespace py = pybind11;

namespace {

using crayon::json::AddedTokenText;

AddedTokenText added_token_from(py::handle id, PyObject* token) {
    AddedTokenText out{id.cast<int64_t>(), {}, {}};
    if (!PyTuple_Check(token) || PyTuple_GET_SIZE(token) != Py_ssize_t(1 + out.flags.size()))
        throw py::type_error("added tokens must be Token objects");
    Py_ssize_t size = 0;
    const char* const content = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(token, 0), &size);
    if (content == nullptr) throw py::error_already_set();
    out.content = {content, size_t(size)};
    for (size_t i = 0; i < out.flags.size(); ++i) out.flags[i] = PyTuple_GET_ITEM(token, Py_ssize_t(1 + i)) == Py_True;
    return out;
}

// Returns the JSON of added tokens. Writes it into the bytes object without a copy, because the JSON of many tokens is
// large.
py::bytes added_tokens_text(const py::dict& tokens, bool pretty) {
    std::vector<AddedTokenText> rows;
    rows.reserve(tokens.size());
    for (const auto& [id, token] : tokens) rows.push_back(added_token_from(id, token.ptr()));
    const auto by_id = [](const AddedTokenText& a, const AddedTokenText& b) { return a.id < b.id; };
    if (!std::is_sorted(rows.begin(), rows.end(), by_id)) std::sort(rows.begin(), rows.end(), by_id);
    PyObject* text = PyBytes_FromStringAndSize(nullptr, Py_ssize_t(crayon::json::added_tokens_room(rows, pretty)));
    if (text == nullptr) throw py::error_already_set();
    char* const begin = PyBytes_AS_STRING(text);
    const char* const end = crayon::json::write_added_tokens(begin, rows, pretty);
    if (_PyBytes_Resize(&text, Py_ssize_t(end - begin)) != 0) throw py::error_already_set();
    return py::reinterpret_steal<py::bytes>(text);
}

}  // namespace

void bind_added_tokens(py::module_& m) {
    m.def("added_tokens_text", &added_tokens_text, py::arg("tokens"), py::arg("pretty"),
          "Return the JSON of `tokens`, Tokens by id, in the dict's order and as the library writes it in a "
          "tokenizer.json.");
}
