// Tokens and ids of the vocabulary, many in a call or one without pybind11's dispatcher. Each method takes what is
// usual and gives None for what it leaves to its caller in Python, which knows the errors of its own face.
#include "bindings/engine/quick.h"
#include "unicode/byte_level.h"

namespace crayon::python {
namespace {

// Calls `visit` with each id of a list that has n of them; false as soon as one is no int that fits, or `visit` says
// no. Where there is no GIL, the list is locked: the references that it has are borrowed. A lock can be lost while
// another one is waited for, so that the list may end early.
template <typename Visit>
bool each_id(PyObject* list, Py_ssize_t n, Visit&& visit) {
    const py::scoped_critical_section lock(list);
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (i >= PyList_GET_SIZE(list)) return false;
        PyObject* const item = PyList_GET_ITEM(list, i);
        if (!PyLong_CheckExact(item)) return false;
        int overflow = 0;
        const long long id = PyLong_AsLongLongAndOverflow(item, &overflow);
        if (overflow != 0 || !visit(i, int64_t(id))) return false;
    }
    return true;
}

// The bytes that one id decodes to; false when the vocabulary does not have it.
bool bytes_of(const Engine& engine, int64_t id, std::string* out) {
    if (!engine.has_id(id)) return false;
    out->clear();
    engine.decode_bytes(IdView(&id, 1, IdView::Kind::int64), false, false, out);
    return true;
}

py::object bytes_from(const std::string& bytes) {
    auto made = py::reinterpret_steal<py::object>(PyBytes_FromStringAndSize(bytes.data(), Py_ssize_t(bytes.size())));
    if (!made) throw py::error_already_set();
    return made;
}

// A method of one argument of the type that `check` knows, of an engine that was made.
template <typename Work>
PyObject* with_one(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names, Work&& work) {
    if (names != nullptr || n != 1) {
        PyErr_SetString(PyExc_TypeError, "one argument is expected, and none by its name");
        return nullptr;
    }
    const Engine* const engine = value_of<Engine>(self);
    if (engine == nullptr) {
        PyErr_SetString(PyExc_TypeError, "Engine.__init__() was not called");
        return nullptr;
    }
    return guarded([&] { return work(*engine, args[0]).release().ptr(); });
}

PyObject* ids_to_tokens(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_one(self, args, n, names, &tokens_of_ids);
}

PyObject* tokens_to_ids(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_one(self, args, n, names, &ids_of_tokens);
}

py::object bytes_of_token(const Engine& engine, PyObject* token) {
    if (!PyLong_CheckExact(token)) return py::none();
    int overflow = 0;
    const long long id = PyLong_AsLongLongAndOverflow(token, &overflow);
    std::string bytes;
    if (overflow != 0 || !bytes_of(engine, id, &bytes)) return py::none();
    return bytes_from(bytes);
}

PyObject* token_bytes(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_one(self, args, n, names, bytes_of_token);
}

PyObject* tokens_bytes(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_one(self, args, n, names, [](const Engine& engine, PyObject* ids) -> py::object {
        if (!PyList_CheckExact(ids)) return py::none();
        const Py_ssize_t n = PyList_GET_SIZE(ids);
        py::list out{size_t(n)};
        std::string bytes;
        const bool done = each_id(ids, n, [&](Py_ssize_t i, int64_t id) {
            if (!bytes_of(engine, id, &bytes)) return false;
            out[size_t(i)] = bytes_from(bytes);
            return true;
        });
        return done ? py::object(std::move(out)) : py::none();
    });
}

PyObject* bytes_and_starts(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_one(self, args, n, names, [](const Engine& engine, PyObject* ids) -> py::object {
        if (!PyList_CheckExact(ids)) return py::none();
        const Py_ssize_t n = PyList_GET_SIZE(ids);
        py::list starts{size_t(n)};
        std::string all, bytes;
        size_t characters = 0;
        const auto continues = [](char byte) { return (uint8_t(byte) & 0xC0) == 0x80; };
        const bool done = each_id(ids, n, [&](Py_ssize_t i, int64_t id) {
            if (!bytes_of(engine, id, &bytes) || bytes.empty()) return false;
            const bool inside = continues(bytes[0]) && characters > 0;
            starts[size_t(i)] = py::int_(characters - inside);
            for (const char byte : bytes) characters += !continues(byte);
            all += bytes;
            return true;
        });
        return done ? py::object(py::make_tuple(bytes_from(all), starts)) : py::none();
    });
}

py::object id_of(const Engine& engine, std::string_view wanted) {
    const int64_t id = engine.token_to_id(to_byte_level(wanted));
    std::string bytes;
    if (id < 0 || !bytes_of(engine, id, &bytes) || bytes != wanted) return py::none();
    return py::int_(id);
}

// The bytes of a token, or of its text; false for what is neither, and for a text with lone surrogates.
bool read_token(PyObject* token, std::string_view* out) {
    if (PyBytes_CheckExact(token)) {
        *out = {PyBytes_AS_STRING(token), size_t(PyBytes_GET_SIZE(token))};
        return true;
    }
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_CheckExact(token) ? PyUnicode_AsUTF8AndSize(token, &size) : nullptr;
    PyErr_Clear();
    if (data != nullptr) *out = {data, size_t(size)};
    return data != nullptr;
}

PyObject* id_of_bytes(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_one(self, args, n, names, [](const Engine& engine, PyObject* token) -> py::object {
        std::string_view bytes;
        return PyBytes_CheckExact(token) && read_token(token, &bytes) ? id_of(engine, bytes) : py::none();
    });
}

// The same two as methods of crayon_hf.tiktoken.Encoding, which has those of Python for all that they leave.
Bound encode_single_bound, decode_single_bound;
PyObject* native_name = nullptr;
PyTypeObject* native_type = nullptr;

// What `work` makes of the only argument, with the native engine of an encoding; else what Python has.
template <typename Work>
PyObject* with_native(const Bound& bound, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names,
                      Work&& work) {
    if (names == nullptr && n == 1) {
        const py::object engine = attribute(self, native_name);
        if (engine && Py_TYPE(engine.ptr()) == native_type) {
            PyObject* const made =
                guarded([&] { return work(*value_of<Engine>(engine.ptr()), args[0]).release().ptr(); });
            if (made != Py_None) return made;
            Py_DECREF(made);
        }
    }
    return bound.call(self, args, n, names);
}

PyObject* encode_single_token(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_native(encode_single_bound, self, args, n, names, [](const Engine& engine, PyObject* token) {
        std::string_view bytes;
        return read_token(token, &bytes) ? id_of(engine, bytes) : py::none();
    });
}

PyObject* decode_single_token_bytes(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return with_native(decode_single_bound, self, args, n, names, bytes_of_token);
}

void quicken_tiktoken(const py::type& encoding) {
    native_name = interned("_native");
    native_type = reinterpret_cast<PyTypeObject*>(py::type::of<Engine>().ptr());
    replace(encoding, "encode_single_token", "($self, text_or_bytes)", &encode_single_token, &encode_single_bound);
    replace(encoding, "decode_single_token_bytes", "($self, token)", &decode_single_token_bytes, &decode_single_bound);
}

}  // namespace

py::object tokens_of_ids(const Engine& engine, PyObject* ids) {
    if (!PyList_CheckExact(ids)) return py::none();
    const Py_ssize_t n = PyList_GET_SIZE(ids);
    py::list out{size_t(n)};
    const bool done = each_id(ids, n, [&](Py_ssize_t i, int64_t id) {
        out[size_t(i)] = engine.has_id(id) ? py::object(py::str(engine.id_to_token(uint32_t(id)))) : py::none();
        return id >= 0 && id <= UINT32_MAX;  // what is said of others is said elsewhere
    });
    return done ? py::object(std::move(out)) : py::none();
}

py::object ids_of_tokens(const Engine& engine, PyObject* tokens) {
    if (!PyList_CheckExact(tokens)) return py::none();
    const Py_ssize_t n = PyList_GET_SIZE(tokens);
    py::list out{size_t(n)};
    const py::scoped_critical_section lock(tokens);  // see each_id
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (i >= PyList_GET_SIZE(tokens)) return py::none();
        const auto token = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(tokens, i));
        if (!PyUnicode_CheckExact(token.ptr())) return py::none();
        Py_ssize_t size = 0;
        const char* const data = PyUnicode_AsUTF8AndSize(token.ptr(), &size);
        if (data == nullptr) {  // a lone surrogate
            PyErr_Clear();
            return py::none();
        }
        const int64_t id = engine.token_to_id({data, size_t(size)});
        out[size_t(i)] = id < 0 ? py::object(py::none()) : py::int_(id);
    }
    return std::move(out);
}

void bind_tokens(EngineClass& c) {
    set_method(c, "ids_to_tokens", &ids_to_tokens,
               "ids_to_tokens($self, ids, /)\n--\n\nThe token of each id of a list, None for one that there is not.");
    set_method(
        c, "tokens_to_ids", &tokens_to_ids,
        "tokens_to_ids($self, tokens, /)\n--\n\nThe id of each token of a list, None for one that there is not.");
    set_method(c, "token_bytes", &token_bytes, "token_bytes($self, id, /)\n--\n\nThe bytes that an id decodes to.");
    set_method(c, "tokens_bytes", &tokens_bytes,
               "tokens_bytes($self, ids, /)\n--\n\nThe bytes that each id of a list decodes to.");
    set_method(c, "bytes_and_starts", &bytes_and_starts,
               "bytes_and_starts($self, ids, /)\n--\n\nThe bytes of a list of ids, and where each id begins, in "
               "characters. One that begins inside a character begins where the character does.");
    set_method(c, "id_of_bytes", &id_of_bytes,
               "id_of_bytes($self, token, /)\n--\n\nThe id that decodes to these bytes, in a byte-level vocabulary.");
}

void bind_quick_tiktoken(py::module_& m) {
    m.def("quicken_tiktoken", &quicken_tiktoken, py::arg("encoding"));
}

}  // namespace crayon::python
