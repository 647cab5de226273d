// The interface between cuda/device.cu or hip/device.hip and the modules crayon_hf._cuda and crayon_hf._hip. It keeps
// Python out of nvcc's and hipcc's compilations, and GPU headers out of the modules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device.h"

namespace crayon {
namespace gpu {

const char* kind();  // "cuda", "rocm"

struct DeviceInfo {
    int index;
    std::string name;
    uint64_t memory;           // bytes
    std::string architecture;  // "sm_90", "gfx90a"
};

// Returns an empty list without a driver or a device.
std::vector<DeviceInfo> find_devices();

// The version that the driver supports, and the runtime of this build: "CUDA 13.0". Empty if unknown.
struct Versions {
    std::string driver, runtime;
};
Versions find_versions();

// Returns why find_devices() is empty, or "" if it finds a device.
std::string why_unusable();

struct OpenedDevice {
    std::unique_ptr<Device> device;  // null if the device cannot be used; `status` and `error` then say why
    Status status = Status::ok;
    std::string error;
};
OpenedDevice open_device(int index);

}  // namespace gpu
}  // namespace crayon
