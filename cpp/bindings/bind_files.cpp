// Files that are held open. Their descriptors are closed here and not in Python, where whatever a signal's handler
// raises can come between any two steps.
#include <pybind11/pybind11.h>

#include <memory>

#include "bindings.h"
#include "crayon/held_file.h"

namespace crayon::python {

void bind_files(py::module_& m) {
    py::class_<HeldFile>(m, "HeldFile")
        .def(py::init([](const py::object& path) {
                 const std::string name = path_from(path);
                 py::gil_scoped_release release;
                 return std::make_unique<HeldFile>(name);
             }),
             py::arg("path"))
        .def("fileno", &HeldFile::descriptor)
        .def("is_ours", &HeldFile::is_ours, py::call_guard<py::gil_scoped_release>())
        .def_static("count", &HeldFile::count);
}

}  // namespace crayon::python
