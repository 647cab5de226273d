// Binds the vocabulary and merges of an engine's model, as Python would read them from the tokenizer.json.
#include <algorithm>
#include <vector>

#include "bindings/inputs.h"
#include "crayon/support/error.h"
#include "unicode/byte_level.h"

namespace crayon::python {
namespace {

// Takes ownership of a new reference. Raises Python's error if it is null.
py::object owned(PyObject* made) {
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

// Returns the model's tokens by id, and null for an id without a token. Merges use the same str objects.
std::vector<py::object> strings_of(const Cartridge& c) {
    std::vector<py::object> strings(c.program().n_ids);
    for (uint32_t id = 0; id < strings.size(); ++id) {
        if (!(c.token_flags[id] & kModel)) continue;
        const Bytes bytes = c.bytes_of(id);
        const bool is_spelled = !c.has_text_tokens() && !(c.token_flags[id] & kRaw);
        const std::string spelled = is_spelled ? to_byte_level(bytes) : std::string();
        const std::string_view text = is_spelled ? std::string_view(spelled) : bytes.view();
        strings[id] = owned(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), nullptr));
    }
    return strings;
}

// Returns the pair that each rank merges.
std::vector<uint64_t> pairs_of(const Cartridge& c) {
    std::vector<uint64_t> pairs(c.merge_products.size);
    for (const uint64_t slot : c.pair_table)
        if (slot != kEmptyPair) pairs[size_t(slot & kMaxMerges)] = slot >> kRankBits;
    return pairs;
}

py::object merges_of(const Cartridge& c, const std::vector<py::object>& strings) {
    const std::vector<uint64_t> pairs = pairs_of(c);
    py::list out(pairs.size());
    for (size_t rank = 0; rank < pairs.size(); ++rank) {
        PyObject* const left = strings[size_t(pairs[rank] >> kIdBits)].ptr();
        PyObject* const right = strings[size_t(pairs[rank] & kMaxIds)].ptr();
        PyList_SET_ITEM(out.ptr(), Py_ssize_t(rank), owned(PyTuple_Pack(2, left, right)).release().ptr());
    }
    return out;
}

py::object vocabulary_of(const Cartridge& c, const std::vector<py::object>& strings) {
    if (!c.scores.empty()) {
        const Cartridge nearest = c.with_nearest_scores(true);
        py::list out;
        for (uint32_t id = 0; id < strings.size(); ++id)
            if (strings[id]) out.append(py::make_tuple(strings[id], nearest.scores[id]));
        return out;
    }
    py::dict out;
    for (uint32_t id = 0; id < strings.size(); ++id) {
        if (!strings[id]) continue;
        const py::object number = owned(PyLong_FromLong(long(id)));
        if (PyDict_SetItem(out.ptr(), strings[id].ptr(), number.ptr()) != 0) throw py::error_already_set();
    }
    return out;
}

// Whether the tables have all merges of the tokenizer.json. The tables have each pair once, so the result is false if
// the file lists a merge twice.
bool has_all_that_is_read(const Cartridge& c) {
    const auto is_pair = [](uint64_t slot) { return slot != kEmptyPair; };
    return c.reads_alike() && (c.scores.empty() || !c.score_ulps.empty()) &&
           size_t(std::count_if(c.pair_table.begin(), c.pair_table.end(), is_pair)) == c.merge_products.size;
}

}  // namespace

void bind_model_vocabulary(EngineClass& c) {
    c.def_property_readonly("reads_alike", [](const Engine& self) { return has_all_that_is_read(self.cartridge()); });
    c.def_property_readonly("has_model_type", [](const Engine& self) { return self.cartridge().has_model_type(); });
    c.def("model_vocabulary", [](const Engine& self) {
        if (!has_all_that_is_read(self.cartridge()))
            throw Error(ErrorKind::unsupported, "the cartridge lacks data that the tokenizer.json has");
        const std::vector<py::object> strings = strings_of(self.cartridge());
        return py::make_tuple(vocabulary_of(self.cartridge(), strings), merges_of(self.cartridge(), strings));
    });
}

}  // namespace crayon::python
