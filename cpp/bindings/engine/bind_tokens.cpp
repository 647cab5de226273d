// Tokens and ids of the vocabulary: in bulk, or single ones without pybind11's dispatcher. The calls for lists and
// bytes return None for unusual input; their Python callers then raise the errors of their own interface.
#include "bindings/engine/quick.h"
#include "unicode/byte_level.h"

namespace crayon::python {
namespace {

// A method of an engine with one argument.
template <auto work, bool is_true_by_default = false>
PyObject* with_one(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    PyObject* const argument = n > 0 ? args[0] : is_true_by_default ? Py_True : nullptr;
    if (names != nullptr || n > 1 || argument == nullptr) {
        PyErr_SetString(PyExc_TypeError, "takes exactly one positional argument");
        return nullptr;
    }
    const Engine* const engine = value_of<Engine>(self);
    if (engine == nullptr) {
        PyErr_SetString(PyExc_TypeError, "Engine.__init__() was not called");
        return nullptr;
    }
    return guarded([&] { return py::object(work(*engine, argument)).release().ptr(); });
}

// Calls `visit` with each id of a list of length n. Returns false at the first item that is not a suitable int, or for
// which `visit` returns false. On free-threaded CPython the list is locked, because its items are borrowed references.
// If `visit` waits for another lock, the list's lock can be released meanwhile, so the list may become shorter.
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

// Sets `out` to the bytes that an id decodes to. Returns false if the vocabulary lacks the id.
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

py::object id_or_none(int64_t id) {
    return id < 0 ? py::object(py::none()) : py::int_(id);
}

py::object token_or_none(const Engine& engine, int64_t id) {
    return engine.has_id(id) ? py::object(py::str(engine.id_to_token(uint32_t(id)))) : py::none();
}

bool flag_from(PyObject* object) {
    if (!PyBool_Check(object)) throw py::type_error(type_name(object) + " is not an instance of 'bool'");
    return object == Py_True;
}

py::object get_vocab_size(const Engine& engine, PyObject* with_added_tokens) {
    return py::int_(engine.vocabulary_size(flag_from(with_added_tokens)));
}

py::object num_special_tokens_to_add(const Engine& engine, PyObject* is_pair) {
    return py::int_(engine.special_tokens_added(flag_from(is_pair)));
}

py::object ids_to_tokens(const Engine& engine, PyObject* ids) {
    if (!PyList_CheckExact(ids)) return py::none();
    const Py_ssize_t n = PyList_GET_SIZE(ids);
    py::list out{size_t(n)};
    const bool done = each_id(ids, n, [&](Py_ssize_t i, int64_t id) {
        out[size_t(i)] = token_or_none(engine, id);
        return id >= 0 && id <= UINT32_MAX;  // the caller reports other values
    });
    return done ? py::object(std::move(out)) : py::none();
}

py::object tokens_to_ids(const Engine& engine, PyObject* tokens) {
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
        out[size_t(i)] = id_or_none(engine.token_to_id({data, size_t(size)}));
    }
    return std::move(out);
}

py::object token_bytes(const Engine& engine, PyObject* token) {
    if (!PyLong_CheckExact(token)) return py::none();
    int overflow = 0;
    const long long id = PyLong_AsLongLongAndOverflow(token, &overflow);
    std::string bytes;
    if (overflow != 0 || !bytes_of(engine, id, &bytes)) return py::none();
    return bytes_from(bytes);
}

py::object tokens_bytes(const Engine& engine, PyObject* ids) {
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
}

py::object bytes_and_starts(const Engine& engine, PyObject* ids) {
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
}

// Takes bytes or a str. Returns None for other types and for lone surrogates.
py::object id_of_bytes(const Engine& engine, PyObject* token) {
    std::string_view wanted;
    if (PyBytes_CheckExact(token)) {
        wanted = {PyBytes_AS_STRING(token), size_t(PyBytes_GET_SIZE(token))};
    } else {
        Py_ssize_t size = 0;
        const char* const data = PyUnicode_CheckExact(token) ? PyUnicode_AsUTF8AndSize(token, &size) : nullptr;
        PyErr_Clear();
        if (data == nullptr) return py::none();
        wanted = {data, size_t(size)};
    }
    const int64_t id = engine.token_to_id(to_byte_level(wanted));
    std::string bytes;
    if (id < 0 || !bytes_of(engine, id, &bytes) || bytes != wanted) return py::none();
    return py::int_(id);
}

}  // namespace

py::object id_of_token(const Engine& engine, PyObject* token) {
    if (!PyUnicode_Check(token)) throw py::type_error("token is " + type_name(token) + ", expected str");
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(token, &size);
    if (data == nullptr) throw py::error_already_set();  // a lone surrogate
    return id_or_none(engine.token_to_id({data, size_t(size)}));
}

py::object token_of_id(const Engine& engine, PyObject* id) {
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(id));
    if (!index) throw py::error_already_set();
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    return token_or_none(engine, overflow == 0 ? number : -1);
}

void bind_tokens(EngineClass& c) {
    set_method(c, "token_to_id", &with_one<&id_of_token>,
               "token_to_id($self, token, /)\n--\n\nReturn the id of a token, or None.");
    set_method(c, "id_to_token", &with_one<&token_of_id>,
               "id_to_token($self, id, /)\n--\n\nReturn the token of an id, or None.");
    set_method(c, "get_vocab_size", &with_one<&get_vocab_size, true>,
               "get_vocab_size($self, with_added_tokens=True, /)\n--\n\nReturn the number of tokens.");
    set_method(c, "num_special_tokens_to_add", &with_one<&num_special_tokens_to_add>,
               "num_special_tokens_to_add($self, is_pair, /)\n--\n\nReturn the number of special tokens that an "
               "encoding gets.");
    set_method(c, "ids_to_tokens", &with_one<&ids_to_tokens>,
               "ids_to_tokens($self, ids, /)\n--\n\nReturn the token of each id of a list, None for an unknown id.");
    set_method(
        c, "tokens_to_ids", &with_one<&tokens_to_ids>,
        "tokens_to_ids($self, tokens, /)\n--\n\nReturn the id of each token of a list, None for an unknown token.");
    set_method(c, "token_bytes", &with_one<&token_bytes>,
               "token_bytes($self, id, /)\n--\n\nReturn the bytes that an id decodes to.");
    set_method(c, "tokens_bytes", &with_one<&tokens_bytes>,
               "tokens_bytes($self, ids, /)\n--\n\nReturn the bytes that each id of a list decodes to.");
    set_method(c, "bytes_and_starts", &with_one<&bytes_and_starts>,
               "bytes_and_starts($self, ids, /)\n--\n\nReturn the bytes of a list of ids, and the character at which "
               "each id begins. An id that begins inside a character counts from that character.");
    set_method(c, "id_of_bytes", &with_one<&id_of_bytes>,
               "id_of_bytes($self, token, /)\n--\n\nReturn the id that decodes to these bytes, or to the UTF-8 of this "
               "text, in a byte-level vocabulary.");
}

}  // namespace crayon::python
