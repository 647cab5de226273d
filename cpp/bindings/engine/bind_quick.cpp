// The calls that small inputs make, without the way through pybind11's dispatcher, which takes longer than their work.
// Each takes the usual arguments itself, and gives all others to the function of the same name that was bound before:
// what is said of wrong ones is said there.
#include <Python.h>
#include <structmember.h>  // PyMemberDef, until 3.12

#include "bindings/engine/quick.h"
#include "bindings/inputs.h"

namespace crayon::python {
namespace {

using EnginePtr = std::shared_ptr<const Engine>;

constexpr size_t kSmallText = 2048;                     // characters
constexpr size_t kWaitingText = (size_t(1) << 30) - 1;  // characters, of up to 4 bytes: larger may have no offsets

EnginePtr engine_of(PyObject* self) {
    return reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().holder<std::shared_ptr<Engine>>();
}

Bound engine_encode_bound, engine_encode_ids_bound, engine_decode_bound;

bool is_flag(PyObject* object) {
    return object == Py_True || object == Py_False;
}

// A text's ids, to be read before anything else is called. Of small texts they are all in one place, under the GIL;
// where there is none, each thread has its own.
class QuickIds {
  public:
    // False for a text that is no str, or has surrogates.
    bool encode(const Engine& engine, PyObject* text, const EncodeOptions& options) {
        if (!PyUnicode_CheckExact(text)) return false;
        const TextView view = view_of(text);
        try {
            const MaybeRelease release(view.bytes());
            if (view.bytes() <= kSmallText) {
#if defined(Py_GIL_DISABLED)
                static thread_local IdBuffer small;
#else
                static IdBuffer small;
#endif
                small.clear();
                small.trim(8 * kSmallText);
                ids_ = &small;
            }
            const Engine::Lease lease(engine);
            engine.encode_ids(reader_.read(view, 0, view.size), options, *lease, ids_);
            return true;
        } catch (const NotUnicode&) {
            return false;
        }
    }
    const int32_t* data() const {
        return ids_->data();
    }
    size_t size() const {
        return ids_->size();
    }

  private:
    Utf8Reader reader_;
    IdBuffer own_;
    IdBuffer* ids_ = &own_;
};

PyObject* engine_encode(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 7 && value_of<Engine>(self) != nullptr && args[1] == Py_None && args[2] == Py_False &&
        is_flag(args[3]) && is_flag(args[4]) && args[5] == Py_None && args[6] == Py_None) {
        return guarded([&]() -> PyObject* {
            EncodeOptions options;
            options.add_special_tokens = args[3] == Py_True;
            options.special_as_text = args[4] == Py_True;
            py::object made = quick_encoding(self, args[0], options);
            return made ? made.release().ptr() : engine_encode_bound.call(self, args, n, names);
        });
    }
    return engine_encode_bound.call(self, args, n, names);
}

PyObject* engine_encode_ids(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    const Engine* const engine = value_of<Engine>(self);
    if (names == nullptr && n >= 1 && n <= 3 && engine != nullptr && (n < 2 || is_flag(args[1])) &&
        (n < 3 || is_flag(args[2]))) {
        return guarded([&]() -> PyObject* {
            EncodeOptions options;
            options.add_special_tokens = n < 2 || args[1] == Py_True;
            options.special_as_text = n >= 3 && args[2] == Py_True;
            QuickIds ids;
            if (!ids.encode(*engine, args[0], options)) return engine_encode_ids_bound.call(self, args, n, names);
            return list_of_ids(ids.data(), ids.size()).release().ptr();
        });
    }
    return engine_encode_ids_bound.call(self, args, n, names);
}

PyObject* engine_decode(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    const Engine* const engine = value_of<Engine>(self);
    if (names == nullptr && n >= 1 && n <= 3 && engine != nullptr && (n < 2 || is_flag(args[1])) &&
        (n < 3 || (PyUnicode_Check(args[2]) && PyUnicode_CompareWithASCIIString(args[2], "error") == 0))) {
        return guarded(
            [&]() -> PyObject* { return quick_text(self, args[0], n < 2 || args[1] == Py_True).release().ptr(); });
    }
    return engine_decode_bound.call(self, args, n, names);
}

}  // namespace

py::object quick_encoding(PyObject* engine, PyObject* text, const EncodeOptions& options) {
    const Engine& native = *value_of<Engine>(engine);
    QuickIds ids;
    if (!PyUnicode_CheckExact(text) || size_t(PyUnicode_GET_LENGTH(text)) > kWaitingText ||
        !can_wait(native, options) || !ids.encode(native, text, options))
        return {};
    std::vector<int32_t> own(ids.data(), ids.data() + ids.size());
    return new_encoding(
        PyEncoding(std::move(own), py::reinterpret_borrow<py::object>(text), options, engine_of(engine)));
}

py::object quick_text(PyObject* engine, PyObject* ids, bool skip_special_tokens) {
    const Ids read = ids_from(ids);
    DecodedText text;
    {
        const MaybeRelease release(read.view.size);
        value_of<Engine>(engine)->decode(read.view, skip_special_tokens, false, &text);
    }
    return str_of(text);
}

void set_method(py::handle type, const char* name, Method method, const std::string& doc) {
    static std::vector<std::unique_ptr<PyMethodDef>> defs;  // live as long as the types
    static std::vector<std::unique_ptr<std::string>> docs;
    docs.push_back(std::make_unique<std::string>(doc));
    defs.push_back(std::make_unique<PyMethodDef>());
    *defs.back() = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method)),
                    METH_FASTCALL | METH_KEYWORDS, docs.back()->c_str()};
    const auto made = py::reinterpret_steal<py::object>(
        PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), defs.back().get()));
    if (!made) throw py::error_already_set();
    py::setattr(type, name, made);
}

void set_property(py::handle type, PyGetSetDef* def) {
    const auto made =
        py::reinterpret_steal<py::object>(PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type.ptr()), def));
    if (!made) throw py::error_already_set();
    py::setattr(type, def->name, made);
}

void Slot::find(py::handle type, const char* name) {
    name_ = interned(name);
#if !defined(Py_GIL_DISABLED)
    const py::object descriptor = py::getattr(type, name);
    if (Py_TYPE(descriptor.ptr()) == &PyMemberDescr_Type)
        offset_ = reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member->offset;
#else
    (void)type;
#endif
}

bool Slot::set(PyObject* self, PyObject* value) const {
    if (offset_ == 0) return PyObject_SetAttr(self, name_, value) == 0;
    PyObject* const before = *place(self);
    Py_INCREF(value);
    *place(self) = value;
    Py_XDECREF(before);
    return true;
}

PyObject* Bound::call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) const {
    std::vector<PyObject*> all{self};
    all.insert(all.end(), args, args + n + (names != nullptr ? PyTuple_GET_SIZE(names) : 0));
    return PyObject_Vectorcall(function, all.data(), size_t(n) + 1, names);
}

void replace(py::handle type, const char* name, const char* signature, Method method, Bound* bound) {
    py::object before = py::getattr(type, name);
    auto doc = py::str(before.attr("__doc__")).cast<std::string>();
    if (signature != nullptr) doc = std::string(name) + signature + "\n--\n\n" + doc;
    bound->function = before.release().ptr();
    set_method(type, name, method, doc);
}

void bind_quick(EngineClass& c) {
    replace(c, "encode", nullptr, &engine_encode, &engine_encode_bound);
    replace(c, "encode_ids", nullptr, &engine_encode_ids, &engine_encode_ids_bound);
    replace(c, "decode", nullptr, &engine_decode, &engine_decode_bound);
}

}  // namespace crayon::python
