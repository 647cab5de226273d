// Binds regular expressions, and the Unicode properties that they name, for tests and tools.
#include <pybind11/pybind11.h>

#include <string_view>
#include <vector>

#include "crayon/regex/regex.h"
#include "crayon/unicode/unicode.h"

namespace py = pybind11;

namespace {

py::list find_all(const crayon::Regex& regex, std::string_view text) {
    std::vector<crayon::Regex::Match> matches;
    {
        py::gil_scoped_release release;
        regex.find_all(text, &matches);
    }
    py::list ranges(matches.size());
    for (size_t i = 0; i < matches.size(); ++i) ranges[i] = py::make_tuple(matches[i].start, matches[i].end);
    return ranges;
}

py::list property_ranges(std::string_view name) {
    py::list ranges;
    for (const crayon::CodePointRange& r : crayon::property_ranges(name))
        ranges.append(py::make_tuple(r.first, r.last));
    return ranges;
}

}  // namespace

void bind_regex(py::module_& m) {
    m.def("property_ranges", &property_ranges, py::arg("name"));
    py::module_ testing = m.def_submodule("_testing");
    testing.def(
        "regex_find_all",
        [](std::string_view pattern, std::string_view text) { return find_all(crayon::Regex::compile(pattern), text); },
        py::arg("pattern"), py::arg("text"),
        "Return the matches of an Oniguruma pattern, in order, as pairs of byte offsets.");
    testing.def(
        "regex_literal_find_all",
        [](std::string_view literal, std::string_view text) { return find_all(crayon::Regex::literal(literal), text); },
        py::arg("literal"), py::arg("text"),
        "Return the matches of a literal string, in order, as pairs of byte offsets.");
}
