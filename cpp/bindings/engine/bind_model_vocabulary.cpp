// The vocabulary and the merges of an engine's model, as Python reads them from a tokenizer.json.
#include <algorithm>
#include <vector>

#include "bindings/inputs.h"
#include "unicode/byte_level.h"

namespace crayon::python {
namespace {

constexpr uint64_t kNoPair = ~uint64_t(0);

py::str string_of(const Cartridge& c, uint32_t id) {
    const Bytes bytes = c.bytes_of(id);
    const bool is_spelled = !c.has_text_tokens() && !(c.token_flags[id] & kRaw);
    return is_spelled ? py::str(to_byte_level(bytes)) : py::str(bytes.view().data(), bytes.size);
}

// The tokens of the model by id; null where an id has none.
std::vector<py::object> strings_of(const Cartridge& c) {
    std::vector<py::object> strings(c.program().n_ids);
    for (uint32_t id = 0; id < strings.size(); ++id)
        if (c.token_flags[id] & kModel) strings[id] = string_of(c, id);
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
    for (size_t rank = 0; rank < pairs.size(); ++rank)
        out[rank] = py::make_tuple(strings[size_t(pairs[rank] >> kIdBits)], strings[size_t(pairs[rank] & kMaxIds)]);
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
    for (uint32_t id = 0; id < strings.size(); ++id)
        if (strings[id]) out[strings[id]] = id;
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
