// Takes the bytes of a batch from a Python object: a buffer in host memory, or a vector in a device's memory (DLPack).
#pragma once

#include <memory>
#include <optional>

#include "bindings/buffer_view.h"
#include "dlpack.h"
#include "open_device.h"

namespace crayon::python {

// Keeps the object that owns the bytes alive. Create and destroy it under the GIL.
class FlatInput {
  public:
    // Takes a contiguous vector of bytes on the host or on this device. Raises TypeError or ValueError for other
    // objects. If the vector is on the device, asks its producer to make `stream` wait for the vector's bytes.
    FlatInput(const py::object& data, const OpenDevice& device, gpu::Stream stream);

    const uint8_t* bytes() const { return bytes_; }
    size_t size() const { return size_; }
    bool is_on_device() const { return is_on_device_; }
    // Returns the stream that may still be writing the bytes.
    gpu::Stream stream() const { return stream_; }

  private:
    void take(const py::object& data, const OpenDevice& device);
    void take_cuda_array(const py::dict& array, const OpenDevice& device);
    void look_at(const dlpack::Tensor& tensor);

    struct Delete {
        template <typename Managed>
        void operator()(Managed* managed) const {
            if (managed->deleter != nullptr) managed->deleter(managed);
        }
    };

    std::optional<BufferView> view_;
    std::unique_ptr<dlpack::Managed, Delete> managed_;
    std::unique_ptr<dlpack::ManagedVersioned, Delete> versioned_;
    const uint8_t* bytes_ = nullptr;
    size_t size_ = 0;
    bool is_on_device_ = false;
    gpu::Stream stream_;
};

}  // namespace crayon::python
