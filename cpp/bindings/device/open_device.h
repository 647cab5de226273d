// A device from another extension module, kept open while objects use it.
#pragma once

#include <memory>
#include <string>

#include "bindings/bindings.h"
#include "gpu/measured_device.h"

namespace crayon::python {

class OpenDevice {
  public:
    // Raises DeviceUnavailableError if the capsule's module was built from another device.h. With `measures`, the
    // device counts calls and times kernels.
    explicit OpenDevice(py::object capsule, bool measures = false);
    ~OpenDevice();
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;

    gpu::Device* get() const { return measured_ != nullptr ? measured_.get() : device_; }
    gpu::MeasuredDevice* measured() const { return measured_.get(); }  // null unless `measures`
    std::string label() const;                                         // "cuda:0"
    // Returns false in the child of a fork, which may neither use nor release the device's objects.
    bool is_here() const;
    // Raises DeviceLostError in the child of a fork.
    void check_process() const;

  private:
    py::object capsule_;
    gpu::Device* device_;
    std::unique_ptr<gpu::MeasuredDevice> measured_;
    long process_;
};

using DevicePtr = std::shared_ptr<const OpenDevice>;

}  // namespace crayon::python
