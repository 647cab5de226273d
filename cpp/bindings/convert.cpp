#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "bindings.h"
#include "crayon/simd/kernels.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "support/prefetch.h"
#include "unicode/utf8_shape.h"

namespace crayon::python {

std::string type_name(py::handle object) {
    return Py_TYPE(object.ptr())->tp_name;
}

TextView view_of(PyObject* text) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) != 0) throw py::error_already_set();
#endif
    const size_t size = size_t(PyUnicode_GET_LENGTH(text));
    if (PyUnicode_IS_ASCII(text)) return {PyUnicode_DATA(text), size, 0};
    const auto* compact = reinterpret_cast<const PyCompactUnicodeObject*>(text);
#if defined(Py_GIL_DISABLED)
    // Another thread may be caching the str's UTF-8: CPython writes the length first, then releases the pointer.
    const char* const utf8 = static_cast<const char*>(_Py_atomic_load_ptr_acquire(&compact->utf8));
#else
    const char* const utf8 = compact->utf8;
#endif
    if (utf8 != nullptr) return {utf8, size_t(compact->utf8_length), 0};
    return {PyUnicode_DATA(text), size, uint8_t(PyUnicode_KIND(text))};
}

bool Texts::add_usual(py::handle object, Bytes* out) {
    if (!PyUnicode_Check(object.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
    if (data == nullptr) {
        PyErr_Clear();
        return false;
    }
    kept_.push_back(py::reinterpret_borrow<py::object>(object));
    *out = {reinterpret_cast<const uint8_t*>(data), size_t(size)};
    return true;
}

Bytes Texts::add(py::handle object, const std::string& what, bool allow_bytes) {
    py::object keep = py::reinterpret_borrow<py::object>(object);
    if (PyUnicode_Check(object.ptr())) {
        Py_ssize_t size = 0;
        const char* data = PyUnicode_AsUTF8AndSize(keep.ptr(), &size);
        if (data == nullptr) {
            py::error_already_set error;
            if (!error.matches(PyExc_UnicodeEncodeError)) throw error;
            if (!replace_surrogates_)
                throw py::type_error(what + " has a lone surrogate, which is not valid text: " + error.what());
            keep = keep.attr("encode")("utf-16", "surrogatepass").attr("decode")("utf-16", "replace");
            data = PyUnicode_AsUTF8AndSize(keep.ptr(), &size);
            if (data == nullptr) throw py::error_already_set();
        }
        kept_.push_back(std::move(keep));
        return {reinterpret_cast<const uint8_t*>(data), size_t(size)};
    }
    if (allow_bytes && PyBytes_Check(object.ptr())) {
        const Bytes bytes{reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(object.ptr())),
                          size_t(PyBytes_GET_SIZE(object.ptr()))};
        const size_t bad = utf8_error(bytes.data, bytes.size);
        if (bad != bytes.size)
            throw Error(ErrorKind::utf8, what + " is not UTF-8: invalid byte at offset " + std::to_string(bad));
        kept_.push_back(std::move(keep));
        return bytes;
    }
    std::string hint;
    if (PyBytes_Check(object.ptr())) hint = " (decode it, or use encode_bytes for bytes that are not text)";
    throw py::type_error(what + " is " + type_name(object) + ", expected str" + (allow_bytes ? " or bytes" : "") +
                         hint);
}

// Returns the value of an int that CPython stores in one digit, which nearly all ids are. Returns -1 for another
// object.
static inline int64_t small_int(PyObject* item) {
#if PY_VERSION_HEX >= 0x030C0000
    const auto* number = reinterpret_cast<const PyLongObject*>(item);
    return PyLong_CheckExact(item) && PyUnstable_Long_IsCompact(number) ? PyUnstable_Long_CompactValue(number) : -1;
#else
    return PyLong_CheckExact(item) && Py_SIZE(item) == 1
               ? int64_t(reinterpret_cast<const PyLongObject*>(item)->ob_digit[0])
               : -1;
#endif
}

static int64_t any_int(PyObject* item, size_t i) {
    int overflow = 0;
    long long value = PyLong_Check(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
    if (!PyLong_Check(item)) {
        // Takes NumPy's integers, and other types with __index__.
        const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(item));
        if (!index) {
            if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
            PyErr_Clear();
            throw py::type_error("ids[" + std::to_string(i) + "] is " + type_name(item) + ", expected int");
        }
        value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    }
    if (overflow != 0)
        throw Error(ErrorKind::token_id, "id " + std::string(py::str(py::handle(item))) + " is not a token id");
    return value;
}

Ids ids_from(py::handle object) {
    Ids out;
    if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
        const size_t n = size_t(PySequence_Fast_GET_SIZE(object.ptr()));
        out.owned.reset(new int64_t[n]);
        int64_t* const to = out.owned.get();
        size_t i = 0;
        constexpr size_t kAhead = 16;                    // the objects are scattered over the heap
        const py::scoped_critical_section lock(object);  // a list's items are borrowed references
        // An item that is not an int may run Python code, which may change the list.
        for (; i < n; ++i) {
            const size_t size = size_t(PySequence_Fast_GET_SIZE(object.ptr()));
            if (i >= size) break;
            PyObject* const* const items = PySequence_Fast_ITEMS(object.ptr());
            if (i + kAhead < size) prefetch_for_write(items[i + kAhead]);
            const int64_t value = small_int(items[i]);
            to[i] = value >= 0 ? value : any_int(py::reinterpret_borrow<py::object>(items[i]).ptr(), i);
        }
        out.view = {to, i, IdView::Kind::int64};
        return out;
    }
    const bool is_iterable = Py_TYPE(object.ptr())->tp_iter != nullptr || PySequence_Check(object.ptr()) != 0;
    if (PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) || !is_iterable)
        throw py::type_error("ids is " + type_name(object) + ", expected a sequence of int");
    if (!py::hasattr(object, "__array__")) return ids_from(py::list(py::reinterpret_borrow<py::object>(object)));
    const auto array = py::array::ensure(object);
    if (!array || array.ndim() != 1 || (array.dtype().kind() != 'i' && array.dtype().kind() != 'u'))
        throw py::type_error("ids is not a one-dimensional array of integers");
    if (array.dtype().kind() == 'u' && array.itemsize() == 8) {
        const auto unsigned_ids = py::array_t<uint64_t, py::array::c_style | py::array::forcecast>::ensure(array);
        for (py::ssize_t i = 0; i < unsigned_ids.size(); ++i)
            if (unsigned_ids.data()[i] > uint64_t(INT64_MAX))
                throw Error(ErrorKind::token_id, "id " + std::to_string(unsigned_ids.data()[i]) + " is not a token id");
    }
    const auto keep = [&](const auto& ids, IdView::Kind kind) {
        if (!ids) throw py::error_already_set();
        out.view = {ids.data(), size_t(ids.size()), kind};
        out.array = ids;
    };
    constexpr int kStyle = py::array::c_style | py::array::forcecast;
    if (py::isinstance<py::array_t<int32_t>>(array))
        keep(py::array_t<int32_t, kStyle>::ensure(array), IdView::Kind::int32);
    else if (py::isinstance<py::array_t<uint32_t>>(array))
        keep(py::array_t<uint32_t, kStyle>::ensure(array), IdView::Kind::uint32);
    else
        keep(py::array_t<int64_t, kStyle>::ensure(array), IdView::Kind::int64);
    return out;
}

namespace {

PyObject* ascii_str(Bytes text) {
    PyObject* const made = PyUnicode_New(Py_ssize_t(text.size), 127);
    if (made != nullptr && text.size > 0) std::memcpy(PyUnicode_1BYTE_DATA(made), text.data, text.size);
    return made;
}

// Does what PyUnicode_DecodeUTF8 does, faster for text that is not small.
PyObject* decode_utf8(Bytes text) {
    constexpr size_t kMany = 256;
    const Kernels& kernels = text.size < kMany ? kScalarKernels : selected_kernels();
    const UnitWriters& by = kernels.unit_writers;
    if (by.ucs1 == nullptr || kernels.utf8_error(text.data, text.size) != text.size)
        return PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(text.data), Py_ssize_t(text.size), nullptr);
    const Utf8Shape shape = utf8_shape(text);
    if (shape.characters == text.size) return ascii_str(text);
    PyObject* const made = PyUnicode_New(Py_ssize_t(shape.characters), shape.last_character());
    if (made == nullptr) return nullptr;
    void* const units = PyUnicode_DATA(made);
    const int width = PyUnicode_KIND(made);
    if (width == 1) by.write(text, shape.characters, static_cast<uint8_t*>(units));
    if (width == 2) by.write(text, shape.characters, static_cast<uint16_t*>(units));
    if (width == 4) by.write(text, shape.characters, static_cast<uint32_t*>(units));
    return made;
}

}  // namespace

py::str str_of(Bytes utf8) {
    PyObject* const made = decode_utf8(utf8);
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(made);
}

py::str str_of(const DecodedText& text) {
    PyObject* made = text.is_ascii ? ascii_str(Bytes(text.bytes)) : decode_utf8(Bytes(text.bytes));
    if (made == nullptr && !text.is_text && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        PyErr_Clear();
        const std::string lossy = text.text();
        made = decode_utf8(Bytes(lossy));
    }
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(made);
}

namespace {

// Int objects by id, created when an id is first listed. They live as long as the process; their number is limited by
// the largest vocabulary in use.
#if defined(Py_GIL_DISABLED)

// Pages never move, so readers need no lock while another thread adds one. The ints are immortal: counting shared
// references would make threads contend for cache lines at every id.
class ReadyInts {
  public:
    // Returns the int, whose reference count need not change. If memory is exhausted, sets Python's error and returns
    // null.
    PyObject* get(uint32_t id) {
        std::atomic<Page*>& place = pages_[id / kPage];
        Page* page = place.load(std::memory_order_acquire);
        if (page == nullptr) page = add(&place);
        std::atomic<PyObject*>& at = (*page)[id % kPage];
        PyObject* const known = at.load(std::memory_order_acquire);
        return known != nullptr ? known : make(id, &at);
    }

  private:
    static constexpr size_t kPage = 4096;
    using Page = std::array<std::atomic<PyObject*>, kPage>;

    static Page* add(std::atomic<Page*>* place) {
        auto made = std::make_unique<Page>();
        for (std::atomic<PyObject*>& at : *made) at.store(nullptr, std::memory_order_relaxed);
        Page* other = nullptr;
        if (place->compare_exchange_strong(other, made.get())) return made.release();
        return other;
    }

    static PyObject* make(uint32_t id, std::atomic<PyObject*>* at) {
        PyObject* const made = PyLong_FromUnsignedLong(id);
        if (made == nullptr) return nullptr;
        PyObject* other = nullptr;
        Py_SET_REFCNT(made, PY_SSIZE_T_MAX);  // No other thread has this int yet. If another thread stores its int
                                              // first, this one stays allocated.
        return at->compare_exchange_strong(other, made) ? made : other;
    }

    std::array<std::atomic<Page*>, (size_t(kMaxIds) + kPage - 1) / kPage> pages_{};
};

#else

struct ReadyInts {
    PyObject** ints = nullptr;
    size_t size = 0;

    void grow(size_t needed) {
        const size_t larger = std::min(needed + needed / 4 + 1024, size_t(kMaxIds));
        void* const memory = std::realloc(ints, larger * sizeof *ints);
        if (memory == nullptr) throw std::bad_alloc();
        ints = static_cast<PyObject**>(memory);
        std::fill(ints + size, ints + larger, nullptr);
        size = larger;
    }
};

#endif

}  // namespace

std::string path_from(const py::object& path) {
    PyObject* name = nullptr;
    if (PyUnicode_FSConverter(path.ptr(), &name) == 0) throw py::error_already_set();
    return std::string(py::reinterpret_steal<py::bytes>(name));
}

py::list list_of_ids(const int32_t* ids, size_t n) {
    static ReadyInts ready;  // constant-initialized
#if PY_VERSION_HEX < 0x030C0000
    // Making a list may start a garbage collection, which may run Python code that encodes into the same `ids`.
    const bool collects = PyGC_Disable() != 0;
    PyObject* const list = PyList_New(Py_ssize_t(n));
    if (collects) PyGC_Enable();
#else
    PyObject* const list = PyList_New(Py_ssize_t(n));
#endif
    if (list == nullptr) throw py::error_already_set();
    auto owned = py::reinterpret_steal<py::list>(list);
    uint32_t greatest = 0;
    for (size_t i = 0; i < n; ++i) greatest = std::max(greatest, uint32_t(ids[i]));
    const bool is_usual = greatest < kMaxIds;  // post-processors and padding may use any 32 bits
#if defined(Py_GIL_DISABLED)
    for (size_t i = 0; i < n; ++i) {
        PyObject* const value = is_usual ? ready.get(uint32_t(ids[i])) : PyLong_FromUnsignedLong(uint32_t(ids[i]));
        if (value == nullptr) throw py::error_already_set();
        PyList_SET_ITEM(list, Py_ssize_t(i), value);
    }
#else
    if (is_usual && greatest >= ready.size) ready.grow(size_t(greatest) + 1);
    PyObject** const ints = ready.ints;
    PyObject** const items = PySequence_Fast_ITEMS(list);
    for (size_t i = 0; i < n; ++i) {
        PyObject* value = is_usual ? ints[ids[i]] : nullptr;
        if (value == nullptr) {
            value = PyLong_FromUnsignedLong(uint32_t(ids[i]));
            if (value == nullptr) throw py::error_already_set();
            if (is_usual) ints[ids[i]] = value;
            if (!is_usual) {
                items[i] = value;
                continue;
            }
        }
        Py_INCREF(value);
        items[i] = value;
    }
#endif
    return owned;
}

}  // namespace crayon::python
