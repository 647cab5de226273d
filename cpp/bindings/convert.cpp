#include <pybind11/numpy.h>

#include "bindings.h"
#include "crayon/error.h"
#include "crayon/unicode.h"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace crayon::python {
namespace {

inline void prefetch(const void* p) {
#if defined(_MSC_VER)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#else
    __builtin_prefetch(p, 1);
#endif
}

}  // namespace

std::string type_name(py::handle object) {
    return Py_TYPE(object.ptr())->tp_name;
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
                throw py::type_error(what + " has a lone surrogate, which is no text: " + error.what());
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
    if (PyBytes_Check(object.ptr())) hint = " (decode it, or use encode_bytes for bytes that are no text)";
    throw py::type_error(what + " is " + type_name(object) + ", expected str" + (allow_bytes ? " or bytes" : "") +
                         hint);
}

std::vector<int64_t> ids_from(py::handle object) {
    std::vector<int64_t> out;
    const auto fail = [](size_t i, py::handle item) {
        throw py::type_error("ids[" + std::to_string(i) + "] is " + type_name(item) + ", expected int");
    };
    if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr())) {
        const size_t n = size_t(PySequence_Fast_GET_SIZE(object.ptr()));
        out.reserve(n);
        for (size_t i = 0; i < n && i < size_t(PySequence_Fast_GET_SIZE(object.ptr())); ++i) {
            PyObject* item = PySequence_Fast_GET_ITEM(object.ptr(), Py_ssize_t(i));
            int overflow = 0;
            long long value = PyLong_Check(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
            if (!PyLong_Check(item)) {
                // NumPy's integers, and whatever else is an index.
                const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(item));
                if (!index) {
                    PyErr_Clear();
                    fail(i, item);
                }
                value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
            }
            if (overflow != 0)
                throw Error(ErrorKind::token_id, "id " + std::string(py::str(py::handle(item))) + " is no token id");
            out.push_back(value);
        }
        return out;
    }
    if (PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) || PyLong_Check(object.ptr()))
        throw py::type_error("ids is " + type_name(object) + ", expected a sequence of int");
    if (!py::hasattr(object, "__array__")) return ids_from(py::list(py::reinterpret_borrow<py::object>(object)));
    const auto array = py::array::ensure(object);
    if (!array || array.ndim() != 1 || (array.dtype().kind() != 'i' && array.dtype().kind() != 'u'))
        throw py::type_error("ids is not a one-dimensional array of integers");
    if (array.dtype().kind() == 'u' && array.itemsize() == 8) {
        const auto unsigned_ids = py::array_t<uint64_t, py::array::c_style | py::array::forcecast>::ensure(array);
        for (py::ssize_t i = 0; i < unsigned_ids.size(); ++i)
            if (unsigned_ids.data()[i] > uint64_t(INT64_MAX))
                throw Error(ErrorKind::token_id, "id " + std::to_string(unsigned_ids.data()[i]) + " is no token id");
    }
    const auto wide = py::array_t<int64_t, py::array::c_style | py::array::forcecast>::ensure(array);
    out.assign(wide.data(), wide.data() + wide.size());
    return out;
}

py::list list_of_ids(const int32_t* ids, size_t n) {
    static std::vector<PyObject*>* ready = new std::vector<PyObject*>();  // under the GIL; lives as long as the process
    PyObject* list = PyList_New(Py_ssize_t(n));
    if (list == nullptr) throw py::error_already_set();
    const auto owned = py::reinterpret_steal<py::list>(list);
    constexpr size_t kAhead = 12;  // the objects lie all over the heap
    for (size_t i = 0; i < n; ++i) {
        if (i + kAhead < n && size_t(ids[i + kAhead]) < ready->size()) prefetch((*ready)[size_t(ids[i + kAhead])]);
        PyObject* value;
        if (const size_t id = size_t(ids[i]); id < kMaxIds) {
            if (id >= ready->size()) ready->resize(id + id / 4 + 1024, nullptr);
            if ((*ready)[id] == nullptr) (*ready)[id] = PyLong_FromLong(ids[i]);
            value = (*ready)[id];
            Py_XINCREF(value);
        } else {
            value = PyLong_FromLong(ids[i]);  // of a post-processor, which may name any id
        }
        if (value == nullptr) throw py::error_already_set();
        PyList_SET_ITEM(list, Py_ssize_t(i), value);
    }
    return owned;
}

}  // namespace crayon::python
