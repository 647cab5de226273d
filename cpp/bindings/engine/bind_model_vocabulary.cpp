// The vocabulary and the merges of an engine's model, as Python reads them from a tokenizer.json.
#include <algorithm>
#include <vector>

#include "bindings/inputs.h"
#include "unicode/byte_level.h"

namespace crayon::python {
namespace {

constexpr uint64_t kNoPair = ~uint64_t(0);

// What a call of Python's gave, which owns it; its error where it gave nothing.
py::object owned(PyObject* made) {
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

// The tokens of the model by id; null where an id has none. Each is made once: merges have the same objects.
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

// The pair of each rank. Empty where one has none, since the file lists a pair again.
std::vector<uint64_t> pairs_of(const Cartridge& c) {
    std::vector<uint64_t> pairs(c.merge_products.size, kNoPair);
    for (const uint64_t slot : c.pair_table)
        if (slot != kEmptyPair && size_t(slot & kMaxMerges) < pairs.size())
            pairs[size_t(slot & kMaxMerges)] = slot >> kRankBits;
    const bool lacks_one = std::find(pairs.begin(), pairs.end(), kNoPair) != pairs.end();
    return lacks_one ? std::vector<uint64_t>() : pairs;
}

py::object merges_of(const Cartridge& c, const std::vector<py::object>& strings) {
    const std::vector<uint64_t> pairs = pairs_of(c);
    if (pairs.size() != c.merge_products.size || pairs.empty()) return py::none();
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

}  // namespace

void bind_model_vocabulary(EngineClass& c) {
    c.def_property_readonly("has_nearest_scores",
                            [](const Engine& self) { return !self.cartridge().score_ulps.empty(); });
    c.def("model_vocabulary", [](const Engine& self) {
        const std::vector<py::object> strings = strings_of(self.cartridge());
        return py::make_tuple(vocabulary_of(self.cartridge(), strings), merges_of(self.cartridge(), strings));
    });
}

}  // namespace crayon::python
