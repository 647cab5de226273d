#include <pybind11/stl.h>

#include <optional>

#include "bindings.h"

namespace crayon::python {
namespace {

template <typename T>
py::list list_of(const std::vector<T>& values) {
    py::list out(values.size());
    for (size_t i = 0; i < values.size(); ++i) out[i] = py::int_(values[i]);
    return out;
}

// Negative values stand for nothing.
py::list list_with_none(const std::vector<int32_t>& values) {
    py::list out(values.size());
    for (size_t i = 0; i < values.size(); ++i) out[i] = values[i] < 0 ? py::object(py::none()) : py::int_(values[i]);
    return out;
}

py::object pair_or_none(const std::optional<Offset>& offset) {
    return offset ? py::object(py::make_tuple(offset->start, offset->end)) : py::none();
}

py::list tokens_of(const PyEncoding& self) {
    const Encoding& e = self.encoding;
    py::list out(e.size());
    auto own = e.texts.begin();
    for (size_t i = 0; i < e.size(); ++i) {
        if (own != e.texts.end() && own->index == i)
            out[i] = py::str((own++)->text);
        else
            out[i] = py::str(self.engine->id_to_token(uint32_t(e.ids[i])));
    }
    return out;
}

py::list offsets_of(const PyEncoding& self) {
    py::list out(self.encoding.offsets.size());
    for (size_t i = 0; i < self.encoding.offsets.size(); ++i)
        out[i] = py::make_tuple(self.encoding.offsets[i].start, self.encoding.offsets[i].end);
    return out;
}

}  // namespace

void bind_encoding(py::module_& m) {
    py::class_<PyEncoding> c(m, "Encoding");
    c.def_property_readonly(
        "ids", [](const PyEncoding& self) { return list_of_ids(self.encoding.ids.data(), self.encoding.ids.size()); });
    c.def_property_readonly("tokens", &tokens_of);
    c.def_property_readonly("offsets", &offsets_of);
    c.def_property_readonly("type_ids", [](const PyEncoding& self) { return list_of(self.encoding.type_ids); });
    c.def_property_readonly("attention_mask", [](const PyEncoding& self) { return list_of(self.encoding.attention); });
    c.def_property_readonly("special_tokens_mask",
                            [](const PyEncoding& self) { return list_of(self.encoding.special); });
    c.def_property_readonly("word_ids", [](const PyEncoding& self) { return list_with_none(self.encoding.words); });
    c.def_property_readonly("words", [](const PyEncoding& self) { return list_with_none(self.encoding.words); });
    c.def_property_readonly("sequence_ids",
                            [](const PyEncoding& self) { return list_with_none(self.encoding.sequences); });
    c.def_property_readonly("n_sequences", [](const PyEncoding& self) { return self.encoding.n_sequences; });
    c.def_property_readonly("overflowing", [](const PyEncoding&) { return py::list(); });
    c.def(
        "word_to_tokens",
        [](const PyEncoding& self, uint32_t word, size_t sequence) {
            return word_to_tokens(self.encoding, word, sequence);
        },
        py::arg("word_index"), py::arg("sequence_index") = 0);
    c.def(
        "word_to_chars",
        [](const PyEncoding& self, uint32_t word, size_t sequence) {
            return pair_or_none(word_to_chars(self.encoding, word, sequence));
        },
        py::arg("word_index"), py::arg("sequence_index") = 0);
    c.def(
        "token_to_sequence",
        [](const PyEncoding& self, size_t token) { return token_to_sequence(self.encoding, token); },
        py::arg("token_index"));
    c.def(
        "token_to_chars",
        [](const PyEncoding& self, size_t token) { return pair_or_none(token_to_chars(self.encoding, token)); },
        py::arg("token_index"));
    c.def(
        "token_to_word", [](const PyEncoding& self, size_t token) { return token_to_word(self.encoding, token); },
        py::arg("token_index"));
    c.def(
        "char_to_token",
        [](const PyEncoding& self, size_t position, size_t sequence) {
            return char_to_token(self.encoding, position, sequence);
        },
        py::arg("char_pos"), py::arg("sequence_index") = 0);
    c.def(
        "char_to_word",
        [](const PyEncoding& self, size_t position, size_t sequence) {
            return char_to_word(self.encoding, position, sequence);
        },
        py::arg("char_pos"), py::arg("sequence_index") = 0);
    c.def("__len__", [](const PyEncoding& self) { return self.encoding.size(); });
    c.def("__repr__", [](const PyEncoding& self) {
        return "Encoding(num_tokens=" + std::to_string(self.encoding.size()) +
               ", attributes=[ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing])";
    });
}

}  // namespace crayon::python
