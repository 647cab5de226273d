// Binds normalizers, for tests and tools.
#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/json/json.h"
#include "crayon/normalizers/normalizers.h"

namespace py = pybind11;

namespace {

py::list pairs_of(const std::vector<crayon::Alignment>& alignments) {
    py::list pairs(alignments.size());
    for (size_t i = 0; i < alignments.size(); ++i) pairs[i] = py::make_tuple(alignments[i].start, alignments[i].end);
    return pairs;
}

std::unique_ptr<crayon::Normalizer> normalizer_from(std::string_view component) {
    const crayon::json::Document document = crayon::json::parse(component);
    return crayon::make_normalizer(document.root);
}

}  // namespace

void bind_normalize(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    m.def(
        "normalize",
        [](std::string_view component, std::string_view text, bool aligned) {
            crayon::AlignedText result;
            {
                py::gil_scoped_release release;
                const auto normalizer = normalizer_from(component);
                result.assign(text, aligned);
                normalizer->normalize(&result);
            }
            return py::make_tuple(py::str(result.text), pairs_of(result.alignments));
        },
        py::arg("component"), py::arg("text"), py::arg("aligned") = true,
        "Normalize a text with the normalizer of a tokenizer.json (JSON). Unless not aligned, also return the byte "
        "range of the original text that each byte is aligned with.");
    testing.def(
        "normalizer_leaves",
        [](std::string_view component, std::string_view text) {
            py::gil_scoped_release release;
            return normalizer_from(component)->leaves(text);
        },
        py::arg("component"), py::arg("text"), "Return True if the normalizer surely leaves the text unchanged.");
}
