// The added tokens of a tokenizer.json as the tokenizers library writes them.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/json/json.h"

namespace py = pybind11;

namespace {

constexpr std::array<std::string_view, 5> kFlags{"single_word", "lstrip", "rstrip", "normalized", "special"};
constexpr size_t kFields = 1 + kFlags.size();  // of a Token: its content comes first

std::string_view content_of(PyObject* content) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(content, &size);
    if (text == nullptr) throw py::error_already_set();
    return {text, size_t(size)};
}

// The strings around each value, as they are inside of the member "added_tokens": each on a line of its own if pretty.
class Layout {
  public:
    explicit Layout(bool pretty) : line_(pretty ? "\n    " : ""), end_(pretty ? "\n    }" : "}") {
        const std::string before = pretty ? "\n      \"" : "\"", after = pretty ? "\": " : "\":";
        id_ = line_ + "{" + before + "id" + after;
        content_ = "," + before + "content" + after;
        for (size_t i = 0; i < kFlags.size(); ++i)
            for (const bool is_set : {false, true})
                flags_[i][is_set] = "," + before + std::string(kFlags[i]) + after + (is_set ? "true" : "false");
    }

    // Bytes that a token takes at most.
    size_t room_for(size_t content) const {
        size_t size = id_.size() + kIdRoom + content_.size() + 6 * content + 2 + end_.size() + 1;
        for (const auto& flag : flags_) size += flag[false].size();
        return size;
    }
    char* write(char* out, int64_t id, std::string_view content, PyObject* token) const {
        out = std::to_chars(put(out, id_), out + id_.size() + kIdRoom, id).ptr;
        out = crayon::json::write_quoted(put(out, content_), content);
        for (size_t i = 0; i < kFlags.size(); ++i)
            out = put(out, flags_[i][PyTuple_GET_ITEM(token, Py_ssize_t(i) + 1) == Py_True]);
        return put(out, end_);
    }
    static char* put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }

  private:
    static constexpr size_t kIdRoom = 20;
    std::string line_, end_, id_, content_;
    std::array<std::array<std::string, 2>, kFlags.size()> flags_;
};

struct Row {
    int64_t id;
    PyObject* token;  // borrowed: nothing runs Python's code until the end
    std::string_view content;
};

py::bytes added_tokens_text(const py::dict& tokens, bool pretty) {
    const Layout layout(pretty);
    std::vector<Row> rows;
    rows.reserve(tokens.size());
    size_t room = 8;
    for (const auto& [id, token] : tokens) {
        if (!PyTuple_Check(token.ptr()) || PyTuple_GET_SIZE(token.ptr()) != Py_ssize_t(kFields))
            throw py::type_error("an added token is no Token");
        rows.push_back({id.cast<int64_t>(), token.ptr(), content_of(PyTuple_GET_ITEM(token.ptr(), 0))});
        room += layout.room_for(rows.back().content.size());
    }
    if (rows.empty()) return "[]";
    const auto by_id = [](const Row& a, const Row& b) { return a.id < b.id; };
    if (!std::is_sorted(rows.begin(), rows.end(), by_id)) std::sort(rows.begin(), rows.end(), by_id);
    PyObject* text = PyBytes_FromStringAndSize(nullptr, Py_ssize_t(room));
    if (text == nullptr) throw py::error_already_set();
    char* const begin = PyBytes_AS_STRING(text);
    char* out = begin;
    for (const Row& row : rows) {
        *out = out == begin ? '[' : ',';
        ++out;
        out = layout.write(out, row.id, row.content, row.token);
    }
    out = Layout::put(out, pretty ? "\n  ]" : "]");
    if (_PyBytes_Resize(&text, Py_ssize_t(out - begin)) != 0) throw py::error_already_set();
    return py::reinterpret_steal<py::bytes>(text);
}

}  // namespace

void bind_added_tokens(py::module_& m) {
    m.def("added_tokens_text", &added_tokens_text, py::arg("tokens"), py::arg("pretty"),
          "JSON of Tokens by their ids, in the order of these, as the library writes the member of a tokenizer.json.");
}
