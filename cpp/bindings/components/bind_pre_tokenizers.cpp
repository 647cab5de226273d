// Binds pre-tokenizers, for tests and tools.
#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

#include "crayon/json/json.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/cpu.h"
#include "crayon/support/error.h"

namespace py = pybind11;

namespace {

// Maps byte offsets to character offsets, for starts of characters and for the end.
std::vector<uint32_t> char_offsets(std::string_view text) {
    std::vector<uint32_t> offsets(text.size() + 1);
    uint32_t chars = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        offsets[i] = chars;
        const bool ends_here = i + 1 == text.size() || (uint8_t(text[i + 1]) & 0xC0) != 0x80;
        if (ends_here) ++chars;
    }
    offsets[text.size()] = chars;
    return offsets;
}

py::list pre_tokenize(const std::string& component, const std::string& text, bool raw_bytes, bool aligned, size_t base,
                      const std::string& inserted) {
    crayon::PieceList list;
    std::vector<uint32_t> chars;
    {
        const py::gil_scoped_release release;
        const crayon::json::Document document = crayon::json::parse(component);
        const auto pre_tokenizer = crayon::make_pre_tokenizer(
            document.root, {raw_bytes, crayon::Flavor::oniguruma, crayon::selected_kernels()});
        list.text.assign(text, aligned);
        list.base = base;
        list.text.text.insert(0, inserted);
        if (aligned)
            list.text.alignments.insert(list.text.alignments.begin(), inserted.size(), crayon::Alignment{0, 0});
        else
            list.text.unplaced = inserted.size();
        if (list.text.size() > 0) list.pieces.push_back({0, uint32_t(list.text.size())});
        pre_tokenizer->split(&list);
        if (aligned) chars = char_offsets(text);
    }
    py::list result(list.pieces.size());
    for (size_t i = 0; i < list.pieces.size(); ++i) {
        const crayon::Piece piece = list.pieces[i];
        const std::string_view bytes = std::string_view(list.text.text).substr(piece.start, piece.end - piece.start);
        uint32_t start = 0;
        uint32_t end = 0;
        if (aligned) {
            start = chars[list.text.alignments[piece.start].start];
            end = chars[list.text.alignments[piece.end - 1].end];
        }
        const py::object shown = raw_bytes ? py::object(py::bytes(bytes)) : py::object(py::str(bytes));
        result[i] = py::make_tuple(shown, py::make_tuple(start, end));
    }
    return result;
}

}  // namespace

void bind_pre_tokenizers(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    testing.def(
        "pre_tokenize", &pre_tokenize, py::arg("component"), py::arg("text"), py::arg("raw_bytes") = false,
        py::arg("aligned") = true, py::arg("base") = 0, py::arg("inserted") = "",
        "Cut a text with a pre_tokenizer (JSON). Return the pieces with their character offsets, (0, 0) if not "
        "`aligned`. With `raw_bytes` a final ByteLevel does not spell bytes, and pieces are bytes. `base` is the byte "
        "offset of the text in a longer one; `inserted` is text that a normalizer put before its first character.");
    testing.def(
        "ends_in_byte_level",
        [](const std::string& component) { return crayon::ends_in_byte_level(crayon::json::parse(component).root); },
        py::arg("component"), "Return whether a pre_tokenizer's last step is a ByteLevel, and its only one.");
}
