// Binds files that are held open. C++ closes their descriptors, because in Python a signal handler may raise between
// any two steps.
#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/bindings.h"
#include "crayon/support/held_file.h"

namespace crayon::python {

void bind_files(py::module_& m) {
    py::class_<HeldFile>(m, "HeldFile")
        .def(py::init([](const py::object& path, bool is_directory) {
                 const std::string name = path_from(path);
                 const py::gil_scoped_release release;
                 return std::make_unique<HeldFile>(name,
                                                   is_directory ? HeldFile::Kind::directory : HeldFile::Kind::file);
             }),
             py::arg("path"), py::arg("is_directory") = false)
        .def("fileno", &HeldFile::descriptor)
        .def("is_ours", &HeldFile::is_ours, py::call_guard<py::gil_scoped_release>())
        .def_static("count", &HeldFile::count);
    m.def(
        "open_regular",
        [](const py::object& path, int) {
            const std::string name = path_from(path);
            const py::gil_scoped_release release;
            return open_regular(name);
        },
        py::arg("path"), py::arg("flags") = 0);
}

}  // namespace crayon::python
