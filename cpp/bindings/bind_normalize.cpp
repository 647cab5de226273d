// Normalizers, for tests and tools.
#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

#include "crayon/normalize.h"

namespace py = pybind11;

void bind_normalize(py::module_& m) {
    m.def(
        "normalize_nfc",
        [](const py::bytes& text) {
            const std::string_view view = text;
            std::string normalized;
            std::vector<crayon::Alignment> alignments;
            {
                py::gil_scoped_release release;
                crayon::normalize_nfc(view, &normalized, &alignments);
            }
            py::list pairs(alignments.size());
            for (size_t i = 0; i < alignments.size(); ++i)
                pairs[i] = py::make_tuple(alignments[i].start, alignments[i].end);
            return py::make_tuple(py::bytes(normalized), pairs);
        },
        py::arg("text"),
        "The NFC form by the reference's tables, and for each of its bytes the original byte range it is aligned "
        "with.");
    m.def(
        "nfc_quick_check",
        [](const py::bytes& text) {
            const std::string_view view = text;
            py::gil_scoped_release release;
            return crayon::is_nfc_quick(view);
        },
        py::arg("text"), "True when NFC surely leaves the text as it is.");
}
