// Devices as other modules hand them over, kept while anything of theirs is used.
#pragma once

#include <memory>
#include <string>

#include "bindings/bindings.h"
#include "gpu/measured_device.h"

namespace crayon::python {

class OpenDevice {
  public:
    // DeviceUnavailableError for a capsule of a module that was built from another device.h.
    // `measures`: what it is asked for is counted, and its kernels are timed.
    explicit OpenDevice(py::object capsule, bool measures = false);
    ~OpenDevice();
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;

    gpu::Device* get() const { return measured_ != nullptr ? measured_.get() : device_; }
    gpu::MeasuredDevice* measured() const { return measured_.get(); }  // null: it is not
    std::string label() const;                                         // "cuda:0"
    // False in a child of a fork: what is the device's can neither be used nor released there.
    bool is_here() const;
    // DeviceLostError where it is not here.
    void check_process() const;

  private:
    py::object capsule_;
    gpu::Device* device_;
    std::unique_ptr<gpu::MeasuredDevice> measured_;
    long process_;
};

using DevicePtr = std::shared_ptr<const OpenDevice>;

}  // namespace crayon::python
