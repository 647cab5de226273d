// The contiguous bytes of a Python object that supports the buffer protocol. While the view exists, the object cannot
// free or resize them; a mapped file cannot be closed.
#pragma once

#include <string>

#include "bindings.h"

namespace crayon::python {

class BufferView {
  public:
    explicit BufferView(py::handle object, int flags = PyBUF_SIMPLE) {
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw py::error_already_set();
    }
    ~BufferView() { PyBuffer_Release(&view_); }
    BufferView(const BufferView&) = delete;
    BufferView& operator=(const BufferView&) = delete;

    Bytes all() const { return {static_cast<const uint8_t*>(view_.buf), size_t(view_.len)}; }
    Bytes slice(size_t start, size_t end) const {
        if (start > end || end > size_t(view_.len))
            throw py::value_error("bytes " + std::to_string(start) + " to " + std::to_string(end) + " of a buffer of " +
                                  std::to_string(view_.len));
        return all().slice(start, end);
    }

  protected:
    Py_buffer view_;
};

// A BufferView with writable bytes.
class WritableView : public BufferView {
  public:
    explicit WritableView(py::handle object) : BufferView(object, PyBUF_WRITABLE) {}
    uint8_t* data() const { return static_cast<uint8_t*>(view_.buf); }
};

}  // namespace crayon::python
