#include "inputs.h"

#include "crayon/support/error.h"

namespace crayon::python {

bool replaces_surrogates(const Engine& engine) {
    return Flavor(engine.cartridge().program().flavor) == Flavor::rust_regex;
}

EncodeOptions options_of(bool add_special_tokens, bool special_as_text) {
    EncodeOptions options;
    options.add_special_tokens = add_special_tokens;
    options.special_as_text = special_as_text;
    return options;
}

EncodeOptions options_of(bool add_special_tokens, bool special_as_text, const py::object& truncation,
                         const py::object& padding) {
    EncodeOptions options = options_of(add_special_tokens, special_as_text);
    options.truncation = truncation_of(truncation);
    options.padding = padding_of(padding);
    return options;
}

py::tuple items_of(py::handle object, const std::string& what) {
    if (PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) || !PySequence_Check(object.ptr()))
        throw py::type_error(what + " is " + type_name(object) + ", expected a list");
    return py::tuple(py::reinterpret_borrow<py::object>(object));
}

Sequence sequence_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts) {
    Sequence out;
    out.is_pretokenized = is_pretokenized;
    if (!is_pretokenized) {
        out.parts.push_back(texts->add(object, what, false));
        return out;
    }
    const py::tuple words = items_of(object, what);
    for (size_t i = 0; i < words.size(); ++i)
        out.parts.push_back(texts->add(words[i], "word " + std::to_string(i) + " of " + what, false));
    return out;
}

Input input_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts) {
    Input out;
    const bool is_list = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
    const auto first_is_list = [&] {
        const auto items = py::reinterpret_borrow<py::sequence>(object);
        return items.size() > 0 && !PyUnicode_Check(py::object(items[0]).ptr());
    };
    if (is_list && (!is_pretokenized || first_is_list())) {
        const py::tuple items = items_of(object, what);
        if (items.size() != 2)
            throw py::type_error(what + " has " + std::to_string(items.size()) + " sequences, expected one or a pair");
        out.first = sequence_of(items[0], is_pretokenized, "the first sequence of " + what, texts);
        out.second = sequence_of(items[1], is_pretokenized, "the second sequence of " + what, texts);
        out.is_pair = true;
    } else {
        out.first = sequence_of(object, is_pretokenized, what, texts);
    }
    return out;
}

std::vector<Bytes> texts_of(py::handle object, Texts* texts, bool allow_bytes) {
    const py::tuple items = items_of(object, "texts");
    std::vector<Bytes> out(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
        const py::handle item = PyTuple_GET_ITEM(items.ptr(), Py_ssize_t(i));
        if (!texts->add_usual(item, &out[i]))
            out[i] = texts->add(item, "item " + std::to_string(i) + " of the batch", allow_bytes);
    }
    return out;
}

TextBatch::TextBatch(py::handle object, bool replace_surrogates, bool checks_bytes)
    : items_(items_of(object, "texts")), kept_(replace_surrogates), views_(items_.size()) {
    for (size_t i = 0; i < views_.size(); ++i) {
        PyObject* const item = PyTuple_GET_ITEM(items_.ptr(), Py_ssize_t(i));
        if (PyBytes_Check(item) && !checks_bytes) {
            views_[i] = {PyBytes_AS_STRING(item), size_t(PyBytes_GET_SIZE(item)), 0};
        } else if (!PyUnicode_Check(item)) {
            const Bytes bytes = kept_.add(item, "item " + std::to_string(i) + " of the batch", true);
            views_[i] = {bytes.data, bytes.size, 0};
        } else {
            views_[i] = view_of(item);
        }
        bytes_ += views_[i].bytes() + 64;
    }
}

void TextBatch::replace() {
    for (size_t i = 0; i < views_.size(); ++i) {
        if (views_[i].width == 0) continue;
        const Bytes bytes = kept_.add(PyTuple_GET_ITEM(items_.ptr(), Py_ssize_t(i)),
                                      "item " + std::to_string(i) + " of the batch", true);
        views_[i] = {bytes.data, bytes.size, 0};
    }
}

std::optional<Truncation> truncation_of(const py::object& object) {
    if (object.is_none()) return std::nullopt;
    const py::tuple items(object);
    Truncation out;
    out.max_length = items[0].cast<size_t>();
    out.stride = items[1].cast<size_t>();
    out.strategy = truncation_strategy(items[2].cast<std::string>());
    out.side = truncation_side(items[3].cast<std::string>());
    return out;
}

std::optional<Padding> padding_of(const py::object& object) {
    if (object.is_none()) return std::nullopt;
    const py::tuple items(object);
    Padding out;
    out.is_fixed = !items[0].is_none();
    if (out.is_fixed) out.length = items[0].cast<size_t>();
    out.side = padding_side(items[1].cast<std::string>());
    if (!items[2].is_none()) out.multiple_of = items[2].cast<size_t>();
    out.pad_id = int32_t(items[3].cast<uint32_t>());  // lists of ids return it as unsigned
    out.pad_type_id = items[4].cast<uint32_t>();
    if (items.size() > 5) out.pad_token = items[5].cast<std::string>();
    return out;
}

}  // namespace crayon::python
