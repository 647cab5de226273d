// Binds the data structures inside cartridges, for tests, converters and tools.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/cartridge/cartridge_v2.h"
#include "crayon/cartridge/double_array.h"
#include "crayon/formats/rank_merges.h"
#include "crayon/json/json.h"
#include "crayon/json/model_text.h"
#include "crayon/json/scores.h"
#include "crayon/support/error.h"
#include "json/model_writer.h"
#include "pipeline/backward_match.h"

namespace py = pybind11;

namespace {

// Lacks py::array::forcecast, so an array of another number type raises TypeError instead of losing values.
using Int32Array = py::array_t<int32_t, py::array::c_style>;

std::vector<int32_t> copy_of(const Int32Array& array, const char* name) {
    if (array.ndim() != 1)
        throw crayon::Error(crayon::ErrorKind::argument, std::string(name) + " must have one dimension");
    return {array.data(), array.data() + array.size()};
}

py::array_t<int32_t> array_of(const std::vector<int32_t>& values) {
    return py::array_t<int32_t>(py::ssize_t(values.size()), values.data());
}

py::tuple arrays_of(const crayon::DoubleArray& trie) {
    return py::make_tuple(array_of(trie.base), array_of(trie.check), array_of(trie.values));
}

// Makes a trie of copies of the arrays, because other threads can change the arrays while the GIL is released.
crayon::DoubleArray trie_of(const Int32Array& base, const Int32Array& check, const Int32Array& values) {
    crayon::DoubleArray trie;
    trie.base = copy_of(base, "base");
    trie.check = copy_of(check, "check");
    trie.values = copy_of(values, "values");
    if (trie.base.size() != trie.check.size() || trie.base.size() != trie.values.size())
        throw crayon::Error(crayon::ErrorKind::argument, "base, check and values must have the same length");
    if (trie.base.size() > size_t(INT32_MAX))
        throw crayon::Error(crayon::ErrorKind::argument, "more slots than 32-bit indices can address");
    return trie;
}

std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> merges_from_ranks(const std::vector<py::bytes>& tokens) {
    const std::vector<std::string_view> views(tokens.begin(), tokens.end());
    std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> merges;
    py::gil_scoped_release release;
    for (const crayon::RankMerge& merge : crayon::merges_from_ranks(views))
        merges.emplace_back(merge.left, merge.right, merge.product);
    return merges;
}

py::tuple build_double_array(const std::vector<std::pair<py::bytes, int32_t>>& keys) {
    const std::vector<std::pair<std::string_view, int32_t>> views(keys.begin(), keys.end());
    crayon::DoubleArray trie;
    {
        py::gil_scoped_release release;
        trie = crayon::build_double_array(views);
    }
    return arrays_of(trie);
}

py::tuple read_cartridge_v2(const py::bytes& data) {
    const std::string_view file = data;
    crayon::DoubleArray trie;
    {
        py::gil_scoped_release release;
        trie = crayon::read_cartridge_v2(file);
    }
    return arrays_of(trie);
}

py::bytes write_cartridge_v2(const Int32Array& base, const Int32Array& check, const Int32Array& values) {
    const crayon::DoubleArray trie = trie_of(base, check, values);
    std::string file;
    {
        py::gil_scoped_release release;
        file = crayon::write_cartridge_v2(trie);
    }
    return file;
}

std::vector<std::pair<py::bytes, int32_t>> list_double_array(const Int32Array& base, const Int32Array& check,
                                                             const Int32Array& values) {
    const crayon::DoubleArray trie = trie_of(base, check, values);
    std::vector<std::pair<std::string, int32_t>> keys;
    {
        py::gil_scoped_release release;
        keys = crayon::list_double_array(
            {trie.base.data(), trie.check.data(), trie.values.data(), uint32_t(trie.base.size())});
    }
    return {keys.begin(), keys.end()};
}

std::vector<std::pair<uint32_t, int32_t>> match_backwards(const Int32Array& base, const Int32Array& check,
                                                          const Int32Array& values, const py::bytes& text, size_t from,
                                                          size_t to) {
    const crayon::DoubleArray trie = trie_of(base, check, values);
    const std::string_view view = text;
    if (from > to || to > view.size())
        throw crayon::Error(crayon::ErrorKind::argument, "from and to must be offsets in the text, in order");
    std::vector<std::pair<uint32_t, int32_t>> found;
    py::gil_scoped_release release;
    std::vector<crayon::BackwardMatch::Match> matches;
    crayon::BackwardMatch(crayon::view_of(trie)).match(view, from, to, &matches);
    for (const auto& match : matches) found.emplace_back(match.size, match.value);
    return found;
}

py::str json_normalize(const py::bytes& data) {
    const std::string_view text = data;
    std::string normalized;
    {
        py::gil_scoped_release release;
        normalized = crayon::json::serialize(crayon::json::parse(text).root);
    }
    return normalized;
}

py::object model_text(const py::bytes& tokenizer_json, bool pretty) {
    const std::string_view json = tokenizer_json;
    std::optional<crayon::json::ModelText> text;
    {
        py::gil_scoped_release release;
        text = crayon::json::model_text(json, pretty);
    }
    if (!text) return py::none();
    return py::make_tuple(py::bytes(text->vocab), text->merges ? py::object(py::bytes(*text->merges)) : py::none());
}

py::bytes vocabulary_text(const py::dict& vocab, bool pretty) {
    struct Entry {
        int64_t id;
        std::string_view token;
    };
    std::vector<Entry> entries;
    entries.reserve(vocab.size());
    for (const auto& [token, id] : vocab) {
        Py_ssize_t size = 0;
        const char* const data = PyUnicode_AsUTF8AndSize(token.ptr(), &size);
        if (data == nullptr) throw py::error_already_set();
        entries.push_back({id.cast<int64_t>(), {data, size_t(size)}});
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
    crayon::json::ModelWriter writer(pretty, 32 * entries.size() + 32);
    writer.begin('{');
    for (const Entry& entry : entries) writer.token(entry.token, entry.id);
    return writer.end('}');
}

std::vector<std::string> spell_scores(const std::vector<double>& scores) {
    std::vector<std::string> texts;
    texts.reserve(scores.size());
    for (const double score : scores) texts.push_back(crayon::json::spell_score(score));
    return texts;
}

py::bytes with_exact_scores(const py::bytes& tokenizer_json) {
    const std::string_view text = tokenizer_json;
    std::string exact;
    {
        py::gil_scoped_release release;
        exact = crayon::json::with_exact_scores(text);
    }
    return exact;
}

std::vector<double> settle_scores(std::vector<double> scores) {
    for (double& score : scores) score = crayon::json::settled_score(score);
    return scores;
}

}  // namespace

void bind_structures(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    m.def("merges_from_ranks", &merges_from_ranks, py::arg("tokens"),
          "Return one (left, right, product) per token that merging can reach: indices into `tokens`, which are in "
          "order of rank.");
    m.def("build_double_array", &build_double_array, py::arg("keys"),
          "Return (base, check, values) of the packed trie. Keys must be sorted bytewise and unique.");
    m.def("read_cartridge_v2", &read_cartridge_v2, py::arg("data"),
          "Return (base, check, values) of a version 2 cartridge, after verifying it.");
    m.def("write_cartridge_v2", &write_cartridge_v2, py::arg("base"), py::arg("check"), py::arg("values"),
          "Return a version 2 cartridge: the inverse of read_cartridge_v2.");
    m.def("list_double_array", &list_double_array, py::arg("base"), py::arg("check"), py::arg("values"),
          "Return every (key, value) of a trie, sorted by key.");
    testing.def(
        "match_backwards", &match_backwards, py::arg("base"), py::arg("check"), py::arg("values"), py::arg("text"),
        py::arg("start"), py::arg("stop"),
        "Return (bytes, value) of the longest key at each offset in text[start:stop], or (0, -1) without a match.");
    m.def("model_text", &model_text, py::arg("tokenizer_json"), py::arg("pretty"),
          "Return (vocab, merges or None) of a tokenizer.json as the library writes them, or None if only the library "
          "can.");
    m.def("vocabulary_text", &vocabulary_text, py::arg("vocab"), py::arg("pretty"),
          "Return the JSON of tokens in order of id, as the library writes a model's vocabulary.");
    m.def("spell_scores", &spell_scores, py::arg("scores"),
          "Return each number as JSON that the library and every other reader read as this very double, if possible.");
    m.def("settle_scores", &settle_scores, py::arg("scores"),
          "Return the numbers, or their nearest neighbours that the library reads back from `spell_scores`.");
    m.def("with_exact_scores", &with_exact_scores, py::arg("tokenizer_json"),
          "Return a tokenizer's `to_str` with the scores of a Unigram model spelled by `spell_scores`.");
    m.def("json_normalize", &json_normalize, py::arg("data"),
          "Return the JSON document `data` without white space, read by the compiler's reader.");
}
