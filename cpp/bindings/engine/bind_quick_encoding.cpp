// What is read of an Encoding, and its look-ups by number, without the way through pybind11's dispatcher. A look-up
// takes ints by their place, and gives all others to the function of the same name that was bound before.
#include <optional>

#include "bindings/engine/quick.h"
#include "crayon/post/encoding.h"

namespace crayon::python {
namespace {

py::object as_python(size_t number) {
    return py::int_(number);
}

template <typename Pair>
py::object as_pair(const Pair& pair) {
    const auto& [first, second] = pair;
    return py::make_tuple(first, second);
}

py::object as_python(const Offset& offset) {
    return as_pair(offset);
}

py::object as_python(const IndexPair& pair) {
    return as_pair(pair);
}

// `find` is a function of an encoding, an index, and with `takes_sequence` the sequence that it counts in.
template <auto find, bool takes_sequence>
struct LookUp {
    static inline Bound bound;

    static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
        const PyEncoding* const encoding = value_of<PyEncoding>(self);
        const bool is_usual = names == nullptr && (n == 1 || (takes_sequence && n == 2)) && encoding != nullptr;
        const long index = is_usual ? small_number(args[0]) : -1;
        const long sequence = is_usual && n == 2 ? small_number(args[1]) : 0;
        if (index < 0 || sequence < 0) return bound.call(self, args, n, names);
        return guarded([&]() -> PyObject* {
            const py::scoped_critical_section lock(self);
            const auto found = [&] {
                if constexpr (takes_sequence)
                    return find(encoding->front(), uint32_t(index), size_t(sequence));
                else
                    return find(encoding->front(), size_t(index));
            }();
            if (!found) Py_RETURN_NONE;
            return as_python(*found).release().ptr();
        });
    }
};

template <auto find, bool takes_sequence>
void quicken(EncodingClass& c, const char* name) {
    using Call = LookUp<find, takes_sequence>;
    replace(c, name, nullptr, &Call::call, &Call::bound);
}

}  // namespace

Py_ssize_t length_of_encoding(PyObject* self) {
    const PyEncoding* const encoding = value_of<PyEncoding>(self);
    const py::scoped_critical_section lock(self);
    if (encoding != nullptr) return Py_ssize_t(encoding->ids().size());
    PyErr_SetString(PyExc_TypeError, "Encoding.__init__() was not called");
    return -1;
}

void bind_quick_encoding(EncodingClass& c) {
    quicken<&word_to_tokens, true>(c, "word_to_tokens");
    quicken<&word_to_chars, true>(c, "word_to_chars");
    quicken<&token_to_sequence, false>(c, "token_to_sequence");
    quicken<&token_to_chars, false>(c, "token_to_chars");
    quicken<&token_to_word, false>(c, "token_to_word");
    quicken<&char_to_token, true>(c, "char_to_token");
    quicken<&char_to_word, true>(c, "char_to_word");
}

}  // namespace crayon::python
