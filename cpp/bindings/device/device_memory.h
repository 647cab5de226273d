// Registers all encoders of this process, so that memory they keep between batches can be freed.
#pragma once

#include "gpu/encoder.h"
#include "open_device.h"

namespace crayon::python {

// Frees the memory of encoders that run no batch now. Never waits, not even in the child of a fork.
void trim_devices();

// Registers an encoder during its lifetime.
class DeviceMemory {
  public:
    DeviceMemory(gpu::Encoder* encoder, DevicePtr device);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    // Frees memory kept by other encoders on the same device, even if they opened it separately.
    void trim_others() const;
    void trim() const;

  private:
    bool is_on(const gpu::Device& device) const;

    gpu::Encoder* const encoder_;
    const DevicePtr device_;
};

}  // namespace crayon::python
