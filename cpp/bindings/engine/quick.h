// For methods that pass by pybind11's dispatcher, which takes longer than their work.
#pragma once

#include <new>
#include <utility>

#include "bindings/bindings.h"

namespace crayon::python {

void translate(std::exception_ptr pointer);  // of module.cpp

using Method = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);  // METH_FASTCALL | METH_KEYWORDS

// The C++ object of one that pybind11 made; null when __init__ was not called.
template <typename T>
T* value_of(PyObject* self) {
    return reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().value_ptr<T>();
}

// What `work` returns; or null, with the Python error of what it throws.
template <typename Work>
PyObject* guarded(Work&& work) {
    try {
        return work();
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const py::builtin_exception& error) {
        error.set_error();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (...) {
        try {
            translate(std::current_exception());
        } catch (const std::exception& error) {
            PyErr_SetString(PyExc_RuntimeError, error.what());
        }
    }
    return nullptr;
}

// Gives a type a method, in the place of one that it may have.
void set_method(py::handle type, const char* name, Method method, const std::string& doc);

}  // namespace crayon::python
