// Fast paths for small inputs: encode, encode_ids and decode of Engine, and the methods of crayon_hf.Tokenizer that
// loops call. pybind11's dispatcher, or a Python function, would take longer than the work itself. Each fast path
// handles the usual arguments, and passes all other calls, errors included, to the function that it replaced.
#include <Python.h>
#include <structmember.h>  // PyMemberDef, until 3.12

#include <algorithm>

#include "bindings/engine/quick.h"
#include "bindings/inputs.h"
#include "crayon/support/error.h"

namespace crayon::python {
namespace {

using EnginePtr = std::shared_ptr<const Engine>;

constexpr size_t kSmallText = 2048;                     // bytes
constexpr size_t kWaitingText = (size_t(1) << 30) - 1;  // in characters of up to 4 bytes each; offsets of larger texts
                                                        // may exceed 32 bits

// A method that a fast path replaced.
struct Bound {
    PyObject* function = nullptr;  // takes self first; never freed, like its type

    PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) const {
        return guarded([&] {
            const std::vector<PyObject*> all = with_self(self, args, n, names);
            return PyObject_Vectorcall(function, all.data(), size_t(n) + 1, names);
        });
    }
};

Bound engine_encode_bound, engine_encode_ids_bound, engine_decode_bound;
Bound encode_bound, decode_bound, id_to_token_bound, token_to_id_bound;

EnginePtr engine_of(PyObject* self) {
    return reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().holder<std::shared_ptr<Engine>>();
}

bool is_flag(PyObject* object) {
    return object == Py_True || object == Py_False;
}

// The ids of one text. Read them before the next call of encode(): under the GIL, all small texts share one buffer. On
// free-threaded CPython each thread has a buffer of its own.
class QuickIds {
  public:
    // Returns false if `text` is not a str or has surrogates.
    bool encode(const Engine& engine, PyObject* text, const EncodeOptions& options) {
        if (!PyUnicode_CheckExact(text)) return false;
        const TextView view = view_of(text);
        try {
            const MaybeRelease release(view.bytes());
            static_assert(kSmallText <= MaybeRelease::kSmall, "the one place is used under the GIL alone");
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

// Returns the Encoding of a str, or nothing if the slow path must handle the call. `engine` is an Engine of this
// module.
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

// Returns the text of ids. Raises the errors of Engine.decode.
py::object quick_text(PyObject* engine, PyObject* ids, bool skip_special_tokens) {
    const Ids read = ids_from(ids);
    DecodedText text;
    {
        const MaybeRelease release(read.view.size);
        value_of<Engine>(engine)->decode(read.view, skip_special_tokens, false, &text);
    }
    return str_of(text);
}

PyObject* engine_encode(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 7 && value_of<Engine>(self) != nullptr && args[1] == Py_None && args[2] == Py_False &&
        is_flag(args[3]) && is_flag(args[4]) && args[5] == Py_None && args[6] == Py_None) {
        return guarded([&]() -> PyObject* {
            const EncodeOptions options = options_of(args[3] == Py_True, args[4] == Py_True);
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
            const EncodeOptions options = options_of(n < 2 || args[1] == Py_True, n >= 3 && args[2] == Py_True);
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

// An attribute in the `__slots__` of crayon_hf.Tokenizer, read at its offset in a tenth of the time of a lookup. Use it
// only for `self` in a method of that class, which surely has the slot. On free-threaded CPython it looks the attribute
// up, because another thread may set it meanwhile.
class Slot {
  public:
    void find(py::handle type, const char* name) {
        name_ = interned(name);
#if !defined(Py_GIL_DISABLED)
        const py::object descriptor = py::getattr(type, name);
        if (Py_TYPE(descriptor.ptr()) == &PyMemberDescr_Type)
            offset_ = reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member->offset;
#else
        (void)type;
#endif
    }
    // Returns nothing if the attribute is not set.
    py::object get(PyObject* self) const {
        if (offset_ != 0)
            return py::reinterpret_borrow<py::object>(
                *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + offset_));
        auto value = py::reinterpret_steal<py::object>(PyObject_GetAttr(self, name_));
        if (!value) PyErr_Clear();
        return value;
    }
    bool is_none(PyObject* self) const {
        return get(self).is_none();
    }

  private:
    PyObject* name_ = nullptr;
    Py_ssize_t offset_ = 0;  // 0: look it up
};

Slot engine_slot, truncation_slot, padding_slot, special_as_text_slot;
PyTypeObject* engine_type = nullptr;  // never freed

// Returns the Engine object of a Tokenizer, or nothing if it has not opened one or delegates to the library tokenizers.
py::object native_of(PyObject* tokenizer) {
    py::object engine = engine_slot.get(tokenizer);
    const bool is_native = engine && Py_TYPE(engine.ptr()) == engine_type && value_of<Engine>(engine.ptr()) != nullptr;
    return is_native ? engine : py::object();
}

// Handles calls with a single text, without truncation and padding.
PyObject* encode(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    PyObject* given[] = {nullptr, Py_None, Py_False, Py_True};
    if (take_arguments(args, n, names, {"sequence", "pair", "is_pretokenized", "add_special_tokens"}, given) &&
        given[0] != nullptr && given[1] == Py_None && given[2] == Py_False && is_flag(given[3])) {
        const py::object engine = native_of(self), as_text = special_as_text_slot.get(self);
        if (engine && as_text && is_flag(as_text.ptr()) && truncation_slot.is_none(self) &&
            padding_slot.is_none(self)) {
            return guarded([&]() -> PyObject* {
                const EncodeOptions options = options_of(given[3] == Py_True, as_text.ptr() == Py_True);
                py::object made = quick_encoding(engine.ptr(), given[0], options);
                return made ? made.release().ptr() : encode_bound.call(self, args, n, names);
            });
        }
    }
    return encode_bound.call(self, args, n, names);
}

// Handles calls with ids that all have a token.
PyObject* decode(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    PyObject* given[] = {nullptr, Py_True};
    if (take_arguments(args, n, names, {"ids", "skip_special_tokens"}, given) && given[0] != nullptr &&
        !PyIter_Check(given[0]) && is_flag(given[1])) {
        if (const py::object engine = native_of(self)) {
            return guarded([&]() -> PyObject* {
                try {
                    return quick_text(engine.ptr(), given[0], given[1] == Py_True).release().ptr();
                } catch (const Error&) {           // an unknown id
                } catch (const py::type_error&) {  // an empty array, or not a sequence of ids
                }
                return decode_bound.call(self, args, n, names);
            });
        }
    }
    return decode_bound.call(self, args, n, names);
}

// Handles calls with an id that has a token.
PyObject* id_to_token(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 1 && PyLong_CheckExact(args[0])) {
        if (const py::object engine = native_of(self)) {
            PyObject* const made =
                guarded([&] { return token_of_id(*value_of<Engine>(engine.ptr()), args[0]).release().ptr(); });
            if (made != Py_None) return made;
            Py_DECREF(made);
        }
    }
    return id_to_token_bound.call(self, args, n, names);
}

PyObject* token_to_id(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    if (names == nullptr && n == 1 && PyUnicode_CheckExact(args[0]))
        if (const py::object engine = native_of(self))
            return guarded([&] { return id_of_token(*value_of<Engine>(engine.ptr()), args[0]).release().ptr(); });
    return token_to_id_bound.call(self, args, n, names);
}

// Replaces a method by `method` and keeps the old one in `bound`. `signature` is "($self, ...)", for help and inspect.
// It is null if the docstring has the signature.
void replace(py::handle type, const char* name, const char* signature, Method method, Bound* bound) {
    py::object before = py::getattr(type, name);
    auto doc = py::str(before.attr("__doc__")).cast<std::string>();
    if (signature != nullptr) doc = std::string(name) + signature + "\n--\n\n" + doc;
    bound->function = before.release().ptr();
    set_method(type, name, method, doc);
}

void quicken(const py::type& tokenizer) {
    engine_slot.find(tokenizer, "_engine");
    truncation_slot.find(tokenizer, "_truncation");
    padding_slot.find(tokenizer, "_padding");
    special_as_text_slot.find(tokenizer, "_special_as_text");
    replace(tokenizer, "encode", "($self, sequence, pair=None, is_pretokenized=False, add_special_tokens=True)",
            &encode, &encode_bound);
    replace(tokenizer, "decode", "($self, ids, skip_special_tokens=True, unknown_ids='skip')", &decode, &decode_bound);
    replace(tokenizer, "id_to_token", "($self, id)", &id_to_token, &id_to_token_bound);
    replace(tokenizer, "token_to_id", "($self, token)", &token_to_id, &token_to_id_bound);
}

}  // namespace

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

std::vector<PyObject*> with_self(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    std::vector<PyObject*> all{self};
    all.insert(all.end(), args, args + n + (names != nullptr ? PyTuple_GET_SIZE(names) : 0));
    return all;
}

bool take_arguments(PyObject* const* args, Py_ssize_t n, PyObject* names, std::initializer_list<const char*> known,
                    PyObject** out) {
    if (size_t(n) > known.size()) return false;
    std::copy_n(args, n, out);
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
        size_t place = 0;
        for (const char* name : known) {
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) break;
            ++place;
        }
        if (place == known.size() || place < size_t(n)) return false;  // unknown, or also given by position
        out[place] = args[n + i];
    }
    return true;
}

void bind_quick(py::module_& m, EngineClass& c) {
    engine_type = reinterpret_cast<PyTypeObject*>(c.inc_ref().ptr());
    replace(c, "encode", nullptr, &engine_encode, &engine_encode_bound);
    replace(c, "encode_ids", nullptr, &engine_encode_ids, &engine_encode_ids_bound);
    replace(c, "decode", nullptr, &engine_decode, &engine_decode_bound);
    m.def("quicken", &quicken, py::arg("tokenizer"));
}

}  // namespace crayon::python
