// Binds decoders, for tests and tools.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "crayon/decoders/decoders.h"
#include "crayon/json/json.h"

namespace py = pybind11;

void bind_decoders(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    testing.def(
        "decode_chain",
        [](const std::string& component, std::vector<std::string> tokens) {
            const py::gil_scoped_release release;
            const crayon::json::Document document = crayon::json::parse(component);
            crayon::make_decoder(document.root)->decode(&tokens);
            return tokens;
        },
        py::arg("component"), py::arg("tokens"),
        "Run a decoder (JSON, as in tokenizer.json) on the strings of tokens; return its strings.");
    testing.def(
        "decode_tokens",
        [](const std::string& component, std::vector<std::string> tokens) {
            const py::gil_scoped_release release;
            const crayon::json::Document document = crayon::json::parse(component);
            crayon::make_decoder(document.root)->decode(&tokens);
            std::string text;
            for (const std::string& token : tokens) text += token;
            return text;
        },
        py::arg("component"), py::arg("tokens"), "Return the decoder's strings, joined.");
}
