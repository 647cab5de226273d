// All encoders of this process, so that what they keep between batches can be had back.
#pragma once

#include "gpu/encoder.h"
#include "open_device.h"

namespace crayon::python {

// Gives back what encoders keep that are in no batch now. Never waits, also not in the child of a fork.
void trim_devices();

// An encoder that is listed while this lives.
class DeviceMemory {
  public:
    DeviceMemory(gpu::Encoder* encoder, DevicePtr device);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    // What the others on the same device keep, whoever opened it for them.
    void trim_others() const;
    void trim() const;

  private:
    bool is_on(const gpu::Device& device) const;

    gpu::Encoder* const encoder_;
    const DevicePtr device_;
};

}  // namespace crayon::python
