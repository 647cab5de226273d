// Binds texts as ranges of a buffer: Engine.encode_ranges, utf8_errors, split_ranges.
#include <pybind11/stl.h>

#include "bindings/arrays.h"
#include "bindings/buffer_view.h"
#include "crayon/encode/sinks/ranges.h"
#include "crayon/texts/text_ranges.h"

namespace crayon::python {
namespace {

template <typename Id>
py::tuple encode(const Engine& self, const BufferView& view, const RangeArrays& ranges, const EncodeOptions& options,
                 const Suffix& suffix, size_t threads) {
    RaggedIds<Id> made;
    {
        const py::gil_scoped_release release;
        const std::vector<TextView> texts = texts_of_ranges(view.all(), ranges.begins(), ranges.ends(), ranges.size());
        made = encode_ranges<Id>(self, texts, options, suffix, threads);
    }
    return py::make_tuple(array_of(std::move(made.ids)), array_of(std::move(made.splits)));
}

}  // namespace

void bind_ranges(py::module_& m, EngineClass& c) {
    c.def(
        "encode_ranges",
        [](const Engine& self, const py::object& data, const py::object& begins, const py::object& ends, bool special,
           bool as_text, size_t threads, std::vector<int64_t> suffix, const std::string& dtype, bool suffix_empty) {
            const BufferView view(data);
            const RangeArrays ranges(begins, ends);
            EncodeOptions options;
            options.add_special_tokens = special;
            options.special_as_text = as_text;
            const Suffix after{std::move(suffix), suffix_empty};
            if (dtype == "int32") return encode<int32_t>(self, view, ranges, options, after, threads);
            if (dtype == "uint16") return encode<uint16_t>(self, view, ranges, options, after, threads);
            if (dtype == "uint32") return encode<uint32_t>(self, view, ranges, options, after, threads);
            throw py::value_error("dtype is \"" + dtype + "\", expected \"int32\", \"uint16\" or \"uint32\"");
        },
        py::arg("data"), py::arg("begins"), py::arg("ends"), py::arg("add_special_tokens") = true,
        py::arg("special_as_text") = false, py::arg("threads") = 0, py::arg("suffix") = py::tuple(),
        py::arg("dtype") = "int32", py::arg("suffix_empty") = true);
    m.def(
        "utf8_errors",
        [](const py::object& data, const py::object& begins, const py::object& ends, size_t threads) {
            const BufferView view(data);
            const RangeArrays ranges(begins, ends);
            std::vector<int64_t> found;
            {
                const py::gil_scoped_release release;
                found =
                    utf8_errors(texts_of_ranges(view.all(), ranges.begins(), ranges.ends(), ranges.size()), threads);
            }
            return array_of(std::move(found));
        },
        py::arg("data"), py::arg("begins"), py::arg("ends"), py::arg("threads") = 0);
    m.def(
        "split_ranges",
        [](const py::object& data, const py::bytes& separator, size_t threads) {
            const BufferView view(data);
            const std::string_view cut(separator);
            RangeList found;
            {
                const py::gil_scoped_release release;
                found = split_ranges(view.all(), cut, threads);
            }
            return py::make_tuple(array_of(std::move(found.begins)), array_of(std::move(found.ends)));
        },
        py::arg("data"), py::arg("separator"), py::arg("threads") = 0);
}

}  // namespace crayon::python
