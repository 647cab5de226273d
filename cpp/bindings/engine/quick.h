// For methods that pass by pybind11's dispatcher, which takes longer than their work.
#pragma once

#include <new>
#include <string>
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

// Gives a type a property, in the place of one that it may have; `def` lives as long as the type.
void set_property(py::handle type, PyGetSetDef* def);

// A method that a quick one replaced, and that has what the quick one leaves.
struct Bound {
    PyObject* function = nullptr;  // takes self first; never freed, like the type that it belongs to

    PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) const;
};

// Puts `method` in the place of the one that `bound` keeps. `signature` is "($self, ...)", for help and inspect; null
// where the documentation has it.
void replace(py::handle type, const char* name, const char* signature, Method method, Bound* bound);

// A small number of the caller's, or -1: then Python says what is wrong with it, if anything.
inline long small_number(PyObject* object) {
    if (!PyLong_CheckExact(object)) return -1;
    int overflow = 0;
    const long number = PyLong_AsLongAndOverflow(object, &overflow);
    return overflow == 0 && number <= INT32_MAX ? number : -1;
}

// The quick look-ups of Encoding, and its length.
void bind_quick_encoding(EncodingClass& c);
Py_ssize_t length_of_encoding(PyObject* self);

}  // namespace crayon::python
