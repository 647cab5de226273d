// Helpers for METH_FASTCALL methods, which replace methods of pybind11, because its dispatcher takes longer than their
// work.
#pragma once

#include <initializer_list>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"

namespace crayon::python {

void translate(std::exception_ptr pointer);  // in module.cpp

using Method = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);  // METH_FASTCALL | METH_KEYWORDS

// Returns the C++ object inside a Python object of pybind11, or null if __init__ was not called.
template <typename T>
T* value_of(PyObject* self) {
    return reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().value_ptr<T>();
}

// Returns the result of `work`. If it throws, sets the Python error and returns null.
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

// Adds a method to a type, replacing one of the same name.
void set_method(py::handle type, const char* name, Method method, const std::string& doc);

// The arguments of a call with `self` in front, for passing the call on.
std::vector<PyObject*> with_self(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names);

// Sets out[i] to the argument named known[i], given by position or by name. Leaves `out` unchanged for arguments that
// are not given. Returns false if the call has other arguments.
bool take_arguments(PyObject* const* args, Py_ssize_t n, PyObject* names, std::initializer_list<const char*> known,
                    PyObject** out);

// Returns an interned str, which callers keep.
inline PyObject* interned(const char* text) {
    PyObject* const name = PyUnicode_InternFromString(text);
    if (name == nullptr) throw py::error_already_set();
    return name;
}

// Return the id of a token, and the token of an id, or None if the vocabulary lacks it. Raise TypeError for other
// types.
py::object id_of_token(const Engine& engine, PyObject* token);
py::object token_of_id(const Engine& engine, PyObject* id);

}  // namespace crayon::python
