// METH_FASTCALL methods in place of pybind11's, whose dispatcher takes longer than their work.
#pragma once

#include <initializer_list>
#include <new>
#include <string>
#include <utility>
#include <vector>

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

// The arguments of a call behind `self`, which a call that passes them on gives first.
std::vector<PyObject*> with_self(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names);

// The arguments of a call in the order of their names, `known`; those that are not given stay what they are in `out`.
// False for a call with others.
bool take_arguments(PyObject* const* args, Py_ssize_t n, PyObject* names, std::initializer_list<const char*> known,
                    PyObject** out);

// A name that is looked up, made once.
inline PyObject* interned(const char* text) {
    PyObject* const name = PyUnicode_InternFromString(text);
    if (name == nullptr) throw py::error_already_set();
    return name;
}

// The id of a token, and the token of an id; None where there is none. TypeError for other types.
py::object id_of_token(const Engine& engine, PyObject* token);
py::object token_of_id(const Engine& engine, PyObject* id);

}  // namespace crayon::python
