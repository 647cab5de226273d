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

// A name that is looked up, made once.
inline PyObject* interned(const char* text) {
    PyObject* const name = PyUnicode_InternFromString(text);
    if (name == nullptr) throw py::error_already_set();
    return name;
}

// An attribute, or nothing.
inline py::object attribute(PyObject* self, PyObject* name) {
    auto value = py::reinterpret_steal<py::object>(PyObject_GetAttr(self, name));
    if (!value) PyErr_Clear();
    return value;
}

// What a dict has for a key, or nothing. Where there is no GIL, a reference that is borrowed may be gone already.
inline py::object entry_of(PyObject* dict, PyObject* key) {
#if defined(Py_GIL_DISABLED)
    PyObject* found = nullptr;
    if (PyDict_GetItemRef(dict, key, &found) < 0) PyErr_Clear();
    return py::reinterpret_steal<py::object>(found);
#else
    auto found = py::reinterpret_borrow<py::object>(PyDict_GetItemWithError(dict, key));
    if (!found) PyErr_Clear();
    return found;
#endif
}

// An attribute that a Python class has in its `__slots__`: read and set where its objects have it, which takes a tenth
// of the time of looking it up. Without the GIL somebody else may set it meanwhile, so it is looked up there.
class Slot {
  public:
    // Of a class that stays; its subclasses have the slot at the same place.
    void find(py::handle type, const char* name);
    // Nothing where it is not set.
    py::object get(PyObject* self) const {
        if (offset_ == 0) return attribute(self, name_);
        return py::reinterpret_borrow<py::object>(*place(self));
    }
    // False with a Python error.
    bool set(PyObject* self, PyObject* value) const;

  private:
    PyObject** place(PyObject* self) const {
        return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + offset_);
    }

    PyObject* name_ = nullptr;
    Py_ssize_t offset_ = 0;  // 0: to be looked up
};

// Those of crayon_hf.Tokenizer.
struct TokenizerSlots {
    Slot engine, state, truncation, padding, special_as_text;
};
extern TokenizerSlots tokenizer_slots;

// The engine of a crayon_hf.Tokenizer, kept while it is used; null when there is none or it is no native one.
class Native {
  public:
    explicit Native(PyObject* tokenizer) : object_(tokenizer_slots.engine.get(tokenizer)) {
        if (object_ && Py_TYPE(object_.ptr()) == type()) engine_ = value_of<Engine>(object_.ptr());
    }
    PyObject* object() const { return object_.ptr(); }
    const Engine& operator*() const { return *engine_; }
    const Engine* operator->() const { return engine_; }
    explicit operator bool() const { return engine_ != nullptr; }

    // Finds what it goes by, before there are threads: one that waits for another's static variable cannot stop when
    // Python without the GIL stops all of them.
    static void prepare() { (void)type(); }

  private:
    static PyTypeObject* type() {
        static PyTypeObject* const engine = reinterpret_cast<PyTypeObject*>(py::type::of<Engine>().ptr());
        return engine;
    }
    py::object object_;
    const Engine* engine_ = nullptr;
};

// A number that is another one as soon as something in a class or in one of its bases has changed, or -1 where there is
// none yet: the version by which CPython's own caches of methods go.
inline long version_of(const PyTypeObject* type) {
#if defined(Py_GIL_DISABLED)
    const auto version = _Py_atomic_load_uint32_relaxed(&type->tp_version_tag);  // as CPython reads it
#else
    const auto version = type->tp_version_tag;
#endif
    bool is_valid = version != 0;
#if PY_VERSION_HEX < 0x030D0000  // from 3.13 on nobody sets this flag
    is_valid = is_valid && (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0;
#endif
    return is_valid ? long(version) : -1;
}

// An Encoding of a str; nothing where it takes the long way. `engine` is a native one.
py::object quick_encoding(PyObject* engine, PyObject* text, const EncodeOptions& options);
// The text of ids; errors as those of Engine.decode.
py::object quick_text(PyObject* engine, PyObject* ids, bool skip_special_tokens);

// The token of each id of a list, None for one that there is not; None for what is no list of ints from 0 up.
py::object tokens_of_ids(const Engine& engine, PyObject* ids);
// The id of each token of a list, None for one that there is not; None for what is no list of str.
py::object ids_of_tokens(const Engine& engine, PyObject* tokens);

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
