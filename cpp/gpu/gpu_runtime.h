// What cuda/device.cu and hip/device.hip have for the modules crayon_hf._cuda and crayon_hf._hip: so that nvcc and
// hipcc see nothing of Python, and the modules nothing of a GPU.
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

// None when there is no driver, or no device.
std::vector<DeviceInfo> find_devices();

// What the driver is for, and what this was built with: "CUDA 13.0". Empty when it cannot be told.
struct Versions {
    std::string driver, runtime;
};
Versions find_versions();

// Why find_devices() has none; empty when it has some.
std::string why_unusable();

struct OpenedDevice {
    std::unique_ptr<Device> device;  // null when it cannot be used; then:
    Status status = Status::ok;
    std::string error;
};
OpenedDevice open_device(int index);

}  // namespace gpu
}  // namespace crayon
