// The calls of crayon_hf.CrayonTokenizerFast that take less time than a function of Python does: its `_tokenizer`, and
// tokens and ids from one another. Each takes the usual arguments of a tokenizer whose engine is native and ready and
// whose methods are those of transformers, and gives all others to what Python has.
#include <atomic>

#include "bindings/engine/quick.h"

namespace crayon::python {
namespace {

struct Names {
    PyObject* tokenizer = interned("_tokenizer");
    PyObject* assigned = interned("_crayon_assigned");
    PyObject* deferred = interned("_crayon_deferred");
    PyObject* names = interned("names");
    PyObject* getattr = interned("__getattr__");
    PyObject* replaced = interned("_crayon_replaced");
    PyObject* unknown = interned("unk_token_id");
    PyObject* id_to_token = interned("id_to_token");
    PyObject* token_to_id = interned("token_to_id");
};

const Names& names_of() {
    static const Names names;
    return names;
}

// Never freed, like the types that they belong to.
PyObject* tokenizer_type = nullptr;
PyObject* converts_plainly = nullptr;  // whether a class leaves these calls to transformers
PyObject* stock_type = nullptr;
PyObject* backend_property = nullptr;
Bound ids_bound, tokens_bound, getattr_bound;

py::object attributes_of(PyObject* self) {
    auto attributes = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(self, nullptr));
    if (!attributes) PyErr_Clear();
    return attributes;
}

bool has(const py::object& attributes, PyObject* name) {
    const int found = PyDict_Contains(attributes.ptr(), name);
    if (found < 0) PyErr_Clear();
    return found > 0;
}

// The backend among the attributes of a tokenizer, if it is ours, and nothing is to be done with it first.
py::object backend_among(const py::object& attributes) {
    if (!attributes) return {};
    py::object backend = entry_of(attributes.ptr(), names_of().tokenizer);
    return backend && reinterpret_cast<PyObject*>(Py_TYPE(backend.ptr())) == tokenizer_type ? backend : py::object();
}

bool class_converts(PyObject* self) {
    static std::atomic<long> known{-1};  // the version of the class that was asked for last, and is plain
    const long version = version_of(Py_TYPE(self));
    if (version >= 0 && version == known.load(std::memory_order_relaxed)) return true;
    const auto answer = py::reinterpret_steal<py::object>(
        PyObject_CallOneArg(converts_plainly, reinterpret_cast<PyObject*>(Py_TYPE(self))));
    if (!answer) throw py::error_already_set();
    if (answer.ptr() != Py_True) return false;
    // The version from before the question: a change of the class meanwhile has made it another one.
    if (version >= 0) known.store(version, std::memory_order_relaxed);
    return true;
}

// The backend of a tokenizer whose method `name` may be passed over; or nothing.
py::object plain_backend(PyObject* self, PyObject* name) {
    const py::object attributes = attributes_of(self);
    py::object backend = backend_among(attributes);
    if (!backend || has(attributes, names_of().replaced) || !class_converts(self)) return {};
    const py::object own = attributes_of(backend.ptr());
    return own && has(own, name) ? py::object() : backend;
}

PyObject* convert_ids_to_tokens(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names != nullptr || n != 1) return ids_bound.call(self, args, n, names);
    return guarded([&]() -> PyObject* {
        if (const py::object backend = plain_backend(self, names_of().id_to_token)) {
            const Native engine(backend.ptr());
            if (const long id = small_number(args[0]); engine && id >= 0) {
                if (!engine->has_id(id)) Py_RETURN_NONE;
                return py::str(engine->id_to_token(uint32_t(id))).release().ptr();
            }
            if (engine) {
                py::object tokens = tokens_of_ids(*engine, args[0]);
                if (!tokens.is_none()) return tokens.release().ptr();
            }
        }
        return ids_bound.call(self, args, n, names);
    });
}

PyObject* convert_tokens_to_ids(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names != nullptr || n != 1) return tokens_bound.call(self, args, n, names);
    return guarded([&]() -> PyObject* {
        if (const py::object backend = plain_backend(self, names_of().token_to_id)) {
            const Native engine(backend.ptr());
            Py_ssize_t size = 0;
            const char* const data = PyUnicode_CheckExact(args[0]) ? PyUnicode_AsUTF8AndSize(args[0], &size) : nullptr;
            PyErr_Clear();  // of a lone surrogate
            if (engine && data != nullptr) {
                const int64_t id = engine->token_to_id({data, size_t(size)});
                if (id >= 0) return PyLong_FromLongLong(id);
            } else if (engine) {
                const py::object ids = ids_of_tokens(*engine, args[0]);
                if (!ids.is_none()) {
                    py::object unknown;
                    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ids.ptr()); ++i) {
                        if (PyList_GET_ITEM(ids.ptr(), i) != Py_None) continue;
                        if (!unknown) unknown = py::getattr(self, names_of().unknown);
                        PyList_SetItem(ids.ptr(), i, py::object(unknown).release().ptr());
                    }
                    return py::object(ids).release().ptr();
                }
            }
        }
        return tokens_bound.call(self, args, n, names);
    });
}

PyObject* get_backend(PyObject* self, void*) {
    if (py::object backend = backend_among(attributes_of(self))) return backend.release().ptr();
    return Py_TYPE(backend_property)->tp_descr_get(backend_property, self, reinterpret_cast<PyObject*>(Py_TYPE(self)));
}

// Whether an attribute waits in a snapshot, or may.
bool is_deferred(const py::object& attributes, PyObject* name) {
    if (!attributes) return true;
    const py::object deferred = entry_of(attributes.ptr(), names_of().deferred);
    if (!deferred) return false;
    const py::object names = attribute(deferred.ptr(), names_of().names);
    const int found = names ? PySequence_Contains(names.ptr(), name) : 1;
    if (found < 0) PyErr_Clear();
    return found != 0;
}

// What is no attribute otherwise: transformers knows it.
PyObject* get_missing(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names != nullptr || n != 1 || is_deferred(attributes_of(self), args[0]))
        return getattr_bound.call(self, args, n, names);
    const auto stock = py::reinterpret_steal<py::object>(PyObject_GetAttr(stock_type, names_of().getattr));
    if (!stock) return nullptr;
    PyObject* const all[] = {self, args[0]};
    return PyObject_Vectorcall(stock.ptr(), all, 2, nullptr);
}

int set_backend(PyObject* self, PyObject* value, void*) {
    return Py_TYPE(backend_property)->tp_descr_set(backend_property, self, value);
}

// Gives CrayonTokenizerFast, which has these in Python, the quick ones.
void quicken_fast(const py::type& fast, const py::type& stock, const py::type& tokenizer,
                  const py::function& converts) {
    (void)names_of();
    stock_type = stock.inc_ref().ptr();
    tokenizer_type = tokenizer.inc_ref().ptr();
    converts_plainly = converts.inc_ref().ptr();
    replace(fast, "convert_ids_to_tokens", "($self, ids, skip_special_tokens=False)", &convert_ids_to_tokens,
            &ids_bound);
    replace(fast, "convert_tokens_to_ids", "($self, tokens)", &convert_tokens_to_ids, &tokens_bound);
    replace(fast, "__getattr__", "($self, key)", &get_missing, &getattr_bound);
    backend_property = py::object(py::getattr(fast, "_tokenizer")).release().ptr();
    static PyGetSetDef backend{"_tokenizer", &get_backend, &set_backend, nullptr, nullptr};
    set_property(fast, &backend);
}

}  // namespace

void bind_quick_fast(py::module_& m) {
    m.def("quicken_fast", &quicken_fast, py::arg("fast"), py::arg("stock"), py::arg("tokenizer"),
          py::arg("converts_plainly"));
}

}  // namespace crayon::python
