// Binds SentencePiece's normalization rules, for the readers of its models.
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/json/json.h"
#include "crayon/normalizers/charsmap_rules.h"
#include "crayon/normalizers/normalizers.h"
#include "crayon/support/error.h"
#include "unicode/utf8_chars.h"

namespace py = pybind11;

namespace {

using crayon::CharsmapRules;

py::str text_of(std::string_view utf8) {
    return {utf8.data(), utf8.size()};
}

py::str text_of(const std::vector<uint32_t>& chars) {
    std::string utf8;
    for (const uint32_t c : chars) crayon::append_utf8(c, &utf8);
    return text_of(utf8);
}

std::unique_ptr<CharsmapRules> rules_of(const py::bytes& charsmap) {
    std::string copy = charsmap;
    const py::gil_scoped_release release;
    return std::make_unique<CharsmapRules>(std::move(copy));
}

py::dict as_dict(const CharsmapRules& rules) {
    py::dict found;
    for (size_t i = 0; i < rules.size(); ++i) found[text_of(rules[i].first)] = text_of(rules[i].second);
    return found;
}

py::dict characters(const CharsmapRules& rules) {
    py::dict found;
    for (size_t i = 0; i < rules.size(); ++i)
        if (rules.is_character(i)) found[text_of(rules[i].first)] = text_of(rules[i].second);
    return found;
}

py::dict following(const CharsmapRules& rules) {
    std::string_view orphan;
    std::vector<CharsmapRules::Following> found;
    {
        const py::gil_scoped_release release;
        found = rules.following(&orphan);
    }
    if (!orphan.empty())
        throw crayon::Error(
            crayon::ErrorKind::unsupported,
            "the normalization rule for " + std::string(py::repr(text_of(orphan))) + ", but none for its beginning");
    py::dict starts;
    for (const auto& one : found) starts[text_of(one.start)] = text_of(one.chars);
    return starts;
}

py::tuple differences(const CharsmapRules& rules, std::string_view component) {
    CharsmapRules::Differences found;
    {
        const py::gil_scoped_release release;
        const crayon::json::Document document = crayon::json::parse(component);
        found = rules.differences(*crayon::make_normalizer(document.root));
    }
    py::dict sequences;
    for (const auto& [key, value] : found.sequences) sequences[text_of(key)] = text_of(value);
    return py::make_tuple(text_of(found.chars), sequences);
}

}  // namespace

void bind_charsmap(py::module_& m) {
    py::class_<CharsmapRules>(m, "CharsmapRules",
                              "SentencePiece's normalization rules, read from a precompiled_charsmap.")
        .def(py::init(&rules_of), py::arg("charsmap"), "Raise VocabularyError if the data is damaged.")
        .def("__len__", &CharsmapRules::size)
        .def("as_dict", &as_dict, "Return all rules: each key and its replacement.")
        .def("characters", &characters, "Return the rules for single characters.")
        .def("following", &following,
             "Return, for each proper prefix of a key with two or more characters, the last characters of such keys. "
             "Raise UnsupportedError if a prefix of two or more characters is not a key.")
        .def(
            "apply", [](const CharsmapRules& rules, std::string_view text) { return py::str(rules.apply(text)); },
            py::arg("text"), "Apply the rules to `text`: from left to right, the longest key that matches.")
        .def("differences", &differences, py::arg("component"),
             "Return where a normalizer (JSON) differs from the rules: single characters, among all that exist, and "
             "rules for several characters.");
}
