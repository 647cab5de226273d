// DecodeStream: takes ids one by one, and returns text once its characters are complete.
#include <pybind11/stl.h>

#include "bindings/engine/quick.h"

namespace crayon::python {
namespace {

bool ends_broken(const std::string& text) {
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    return text.size() >= kReplacement.size() &&
           text.compare(text.size() - kReplacement.size(), kReplacement.size(), kReplacement) == 0;
}

// Use it under the GIL or, on free-threaded CPython, under the lock of its Python object. If the engine is delegated to
// the library tokenizers, decoding runs Python code, and another thread may call step() meanwhile. Code after such a
// call may only assume that `ids_` has at least `shown_` ids.
class PyDecodeStream {
  public:
    PyDecodeStream(std::vector<uint32_t> ids, bool skip_special_tokens)
        : ids_(std::move(ids)), skip_special_tokens_(skip_special_tokens) {}

    // Adds ids and decodes. `native` is the C++ object of `engine`, or null if the engine is delegated. Returns the new
    // text, or None if no character is complete.
    PyObject* step(const Engine* native, py::handle engine, const uint32_t* ids, size_t n) {
        begun_ = true;
        if (context_.empty() && !ids_.empty()) {
            const size_t size = ids_.size();
            std::string prompt = decode(native, engine);
            if (!ends_broken(prompt)) {
                context_ = std::move(prompt);
                shown_ = std::min(size, ids_.size());
            }
        }
        ids_.insert(ids_.end(), ids, ids + n);
        const std::string text = decode(native, engine);
        if (text.size() <= context_.size() || ends_broken(text)) Py_RETURN_NONE;
        if (text.compare(0, context_.size(), context_) != 0)
            throw py::value_error(
                "the new ids change text that was returned before, so they cannot be decoded in a stream: decode all "
                "ids at once");
        auto chunk = py::reinterpret_steal<py::object>(
            PyUnicode_DecodeUTF8(text.data() + context_.size(), Py_ssize_t(text.size() - context_.size()), nullptr));
        if (!chunk) throw py::error_already_set();
        ids_.erase(ids_.begin(), ids_.begin() + std::ptrdiff_t(shown_));
        shown_ = ids_.size();
        context_ = decode(native, engine);
        return chunk.release().ptr();
    }
    bool begun() const { return begun_; }

  private:
    std::string decode(const Engine* native, py::handle engine) {
        if (native == nullptr) return engine.attr("decode")(ids_, skip_special_tokens_, "skip").cast<std::string>();
        native->decode({ids_.data(), ids_.size(), IdView::Kind::uint32}, skip_special_tokens_, true, &decoded_);
        return decoded_.is_ascii || decoded_.is_text ? decoded_.bytes : decoded_.text();
    }

    std::vector<uint32_t> ids_;
    const bool skip_special_tokens_;
    bool begun_ = false;
    std::string context_;  // the text of the first `shown_` ids, which was returned before
    size_t shown_ = 0;     // number of ids in context_
    DecodedText decoded_;
};

// Set at module initialization, before other threads exist. Free-threaded Python cannot stop a thread that waits for
// another's static variable.
PyTypeObject* engine_type = nullptr;
PyObject* engine_name = nullptr;
PyObject* slow_name = nullptr;

const Engine* native_of(PyObject* engine) {
    return Py_TYPE(engine) == engine_type ? value_of<Engine>(engine) : nullptr;
}

// The fast path for one id, a tokenizer with an engine of this library, and a stream that has begun. The method `_step`
// handles all other calls, and their errors.
PyObject* step(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    PyDecodeStream* const stream = value_of<PyDecodeStream>(self);
    if (stream == nullptr) {
        PyErr_SetString(PyExc_TypeError, "DecodeStream.__init__() was not called");
        return nullptr;
    }
    if (names == nullptr && n == 2 && stream->begun() && PyLong_CheckExact(args[1])) {
        int overflow = 0;
        const long long id = PyLong_AsLongLongAndOverflow(args[1], &overflow);
        const auto engine = py::reinterpret_steal<py::object>(PyObject_GetAttr(args[0], engine_name));
        if (!engine) PyErr_Clear();
        const Engine* const native = engine ? native_of(engine.ptr()) : nullptr;
        if (native != nullptr && overflow == 0 && id >= 0 && id <= UINT32_MAX) {
            const auto wanted = uint32_t(id);
            const py::scoped_critical_section lock(self);
            return guarded([&] { return stream->step(native, engine, &wanted, 1); });
        }
    }
    return guarded([&] {
        const std::vector<PyObject*> all = with_self(self, args, n, names);
        return PyObject_VectorcallMethod(slow_name, all.data(), size_t(n) + 1, names);
    });
}

}  // namespace

void bind_decode_stream(py::module_& m) {
    engine_type = reinterpret_cast<PyTypeObject*>(py::type::of<Engine>().ptr());  // the module keeps it alive
    engine_name = interned("_engine");
    slow_name = interned("_step");
    py::class_<PyDecodeStream> c(m, "DecodeStream");
    c.def(py::init<std::vector<uint32_t>, bool>(), py::arg("ids"), py::arg("skip_special_tokens"))
        .def(py::init([](const py::object& other) {
                 const auto& stream = other.cast<const PyDecodeStream&>();
                 const py::scoped_critical_section lock(other);
                 return std::make_unique<PyDecodeStream>(stream);
             }),
             py::arg("other"))
        .def(
            "advance",
            [](const py::object& self, const py::object& engine, const std::vector<uint32_t>& ids) {
                auto& stream = self.cast<PyDecodeStream&>();
                const py::scoped_critical_section lock(self);
                return py::reinterpret_steal<py::object>(
                    stream.step(native_of(engine.ptr()), engine, ids.data(), ids.size()));
            },
            py::arg("engine"), py::arg("ids"), "`step` for an engine instead of a tokenizer.")
        .def_property_readonly("begun", &PyDecodeStream::begun, "Whether an id was added.");
    set_method(c, "step", &step,
               "step($self, tokenizer, id)\n--\n\nAdd one id or several. Return the new text, or None while a "
               "character is incomplete.\n\nIds outside the vocabulary are skipped.");
}

}  // namespace crayon::python
