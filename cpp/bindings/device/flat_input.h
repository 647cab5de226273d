// The bytes of a batch, wherever they lie: in a buffer of the host, or through DLPack in a device's memory.
#pragma once

#include <memory>
#include <optional>

#include "bindings/buffer_view.h"
#include "dlpack.h"
#include "open_device.h"

namespace crayon::python {

// Holds what it reads. Made and destroyed under the GIL.
class FlatInput {
  public:
    // A vector of bytes, contiguous, of the host or of this device. TypeError, ValueError for others.
    FlatInput(const py::object& data, const OpenDevice& device);

    const uint8_t* bytes() const { return bytes_; }
    size_t size() const { return size_; }
    bool is_on_device() const { return is_on_device_; }

  private:
    void take(const py::object& data, const OpenDevice& device);
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
};

}  // namespace crayon::python
