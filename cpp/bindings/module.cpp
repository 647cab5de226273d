// The extension module crayon_hf._core.
#include <pybind11/pybind11.h>

#include <cstring>
#include <system_error>

#include "bindings/engine/quick.h"
#include "bindings/version.h"
#include "crayon/support/error.h"
#include "crayon/support/interrupt.h"
#include "gpu/memory.h"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

namespace py = pybind11;

void bind_structures(py::module_& m);
void bind_pretokenize(py::module_& m);
void bind_normalize(py::module_& m);
void bind_added_tokens(py::module_& m);
void bind_charsmap(py::module_& m);
void bind_pieces(py::module_& m);
void bind_ranks(py::module_& m);
void bind_regex(py::module_& m);
void bind_pre_tokenizers(py::module_& m);
void bind_decoders(py::module_& m);
void bind_models(py::module_& m);

namespace {

const char* class_name(crayon::ErrorKind kind) {
    switch (kind) {
        case crayon::ErrorKind::cartridge:
            return "CartridgeError";
        case crayon::ErrorKind::vocabulary:
            return "VocabularyError";
        case crayon::ErrorKind::unsupported:
            return "UnsupportedError";
        case crayon::ErrorKind::utf8:
            return "InvalidUtf8Error";
        case crayon::ErrorKind::token_id:
            return "TokenIdError";
        case crayon::ErrorKind::argument:
            break;
    }
    return nullptr;
}

const char* class_name(crayon::gpu::Status status) {
    switch (status) {
        case crayon::gpu::Status::out_of_memory:
            return "DeviceOutOfMemoryError";
        case crayon::gpu::Status::unusable:
            return "DeviceUnavailableError";
        case crayon::gpu::Status::lost:
            return "DeviceLostError";
        case crayon::gpu::Status::failed:
        case crayon::gpu::Status::ok:
            break;
    }
    return "DeviceError";
}

// Raises the exception of a Python signal handler. Python handles signals in the main thread only, so other threads
// return at once, without taking the GIL.
void check_interrupt() {
#if defined(__linux__)
    if (::syscall(SYS_gettid) != ::getpid()) return;
#elif defined(__APPLE__)
    if (pthread_main_np() == 0) return;
#endif
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

// Sets a Python error. The message may contain a file name that is not UTF-8, so it is decoded as `os.fsdecode` does.
void raise(PyObject* type, const char* message) {
    const auto text = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(message, Py_ssize_t(std::strlen(message)), "surrogateescape"));
    if (text) PyErr_SetObject(type, text.ptr());
}

}  // namespace

namespace crayon::python {

void translate(std::exception_ptr pointer) {
    try {
        std::rethrow_exception(pointer);
    } catch (const crayon::Error& error) {
        const char* name = class_name(error.kind());
        if (name == nullptr) {
            raise(PyExc_ValueError, error.what());
            return;
        }
        const py::object type = py::module_::import("crayon_hf.errors").attr(name);
        raise(type.ptr(), error.what());
    } catch (const crayon::gpu::DeviceError& error) {
        const py::object type = py::module_::import("crayon_hf.errors").attr(class_name(error.status()));
        raise(type.ptr(), error.what());
    } catch (const std::system_error& error) {
        // OSError picks the subclass (FileNotFoundError, ...) from errno. The message is the path: see open_file.
        std::string path = error.what();
        const size_t colon = path.rfind(": ");
        if (colon != std::string::npos) path.resize(colon);
        const py::object type = py::reinterpret_borrow<py::object>(PyExc_OSError);
        const auto name = py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefault(path.c_str()));
        const py::object value = type(error.code().value(), error.code().message(), name);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())), value.ptr());
    }
}

// Returns a number that changes whenever the class or one of its bases changes, or -1 if CPython has assigned none yet.
// CPython's own method caches use this version.
PyObject* type_version(PyObject*, PyObject* object) {
    if (!PyType_Check(object)) return PyErr_Format(PyExc_TypeError, "expected a class, got %R", object);
    const auto* const type = reinterpret_cast<PyTypeObject*>(object);
#if defined(Py_GIL_DISABLED)
    const auto version = _Py_atomic_load_uint32_relaxed(&type->tp_version_tag);  // as CPython reads it
#else
    const auto version = type->tp_version_tag;
#endif
    bool is_valid = version != 0;
#if PY_VERSION_HEX < 0x030D0000  // CPython no longer sets this flag from 3.13 on
    is_valid = is_valid && (type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0;
#endif
    return PyLong_FromLong(is_valid ? long(version) : -1);
}

PyMethodDef kTypeVersion{"type_version", &type_version, METH_O, nullptr};

}  // namespace crayon::python

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
    m.doc() = "The compiled engine of crayon_hf.";
    m.attr("__version__") = crayon::python::kPackageVersion;
    m.attr("BUILD_ID") = crayon::python::kBuildId;
    m.attr("type_version") = py::reinterpret_steal<py::object>(PyCFunction_New(&crayon::python::kTypeVersion, nullptr));
    m.def_submodule("_testing", "Parts of the engine one by one, for tests alone.");
    py::register_exception_translator(&crayon::python::translate);
    crayon::interrupt_check = &check_interrupt;
    bind_structures(m);
    bind_pretokenize(m);
    bind_normalize(m);
    bind_added_tokens(m);
    bind_charsmap(m);
    bind_pieces(m);
    bind_ranks(m);
    bind_regex(m);
    bind_pre_tokenizers(m);
    bind_decoders(m);
    bind_models(m);
    crayon::python::bind_encoding(m);
    crayon::python::bind_engine(m);
    crayon::python::bind_stream(m);
    crayon::python::bind_decode_stream(m);
    crayon::python::bind_word_counter(m);
    crayon::python::bind_train(m);
    crayon::python::bind_surgery(m);
    crayon::python::bind_json_lines(m);
    crayon::python::bind_device(m);
    crayon::python::bind_files(m);
}
