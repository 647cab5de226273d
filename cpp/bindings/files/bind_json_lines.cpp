// Binds read_json_lines and its result.
#include <algorithm>

#include "bindings/arrays.h"
#include "bindings/buffer_view.h"
#include "bindings/inputs.h"
#include "crayon/texts/json_lines.h"

namespace crayon::python {
namespace {

struct PyJsonLines {
    py::object begins, ends, status, line_begins;
};

// Returns the names of columns in UTF-8. A name with lone surrogates equals no key of a line that this reader accepts.
std::vector<std::string> names_of(const py::object& columns) {
    std::vector<std::string> names;
    for (const py::handle item : items_of(columns, "columns")) {
        if (!PyUnicode_Check(item.ptr())) throw py::type_error("a column is " + type_name(item) + ", expected str");
        const auto name =
            py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(item.ptr(), "utf-8", "surrogatepass"));
        if (!name) throw py::error_already_set();
        names.emplace_back(name);
        if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1)
            throw py::value_error("the column " + std::string(py::repr(item)) + " is listed twice");
    }
    return names;
}

PyJsonLines read(const py::object& block, size_t size, const py::object& columns, size_t threads) {
    const WritableView view(block);
    const std::vector<std::string> names = names_of(columns);
    const Bytes bytes = view.slice(0, size);
    JsonLines lines;
    {
        const py::gil_scoped_release release;
        lines = read_json_lines(view.data(), bytes.size, names, threads);
    }
    const auto n = py::ssize_t(lines.status.size()), width = py::ssize_t(names.size());
    return {array_of<int64_t>(std::move(lines.begins), {n, width}),
            array_of<int64_t>(std::move(lines.ends), {n, width}), array_of<uint8_t>(std::move(lines.status), {n}),
            array_of(std::move(lines.line_begins))};
}

size_t cut(const py::object& block, size_t from, size_t size, size_t most, bool at_end) {
    const BufferView view(block);
    const Bytes bytes = view.slice(0, size);
    const py::gil_scoped_release release;
    return whole_lines(bytes.data, std::min(from, size), size, most, at_end);
}

}  // namespace

void bind_json_lines(py::module_& m) {
    py::class_<PyJsonLines>(m, "JsonLines")
        .def_readonly("begins", &PyJsonLines::begins)
        .def_readonly("ends", &PyJsonLines::ends)
        .def_readonly("status", &PyJsonLines::status)
        .def_readonly("line_begins", &PyJsonLines::line_begins);
    m.def("read_json_lines", &read, py::arg("block"), py::arg("size"), py::arg("columns"), py::arg("threads") = 0);
    m.def("whole_lines", &cut, py::arg("block"), py::arg("begin"), py::arg("size"), py::arg("most"), py::arg("at_end"));
}

}  // namespace crayon::python
