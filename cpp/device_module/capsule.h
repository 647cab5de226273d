// How a module hands a device to crayon_hf._core.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "gpu/device.h"

namespace crayon {
namespace device_module {

// The name of a capsule, as bindings/device/open_device.cpp asks for it.
inline const char* capsule_name() {
    static const std::string name = "crayon_hf.gpu.Device/" + std::to_string(gpu::kDeviceAbi);
    return name.c_str();
}

// Destroys the device in the end.
inline pybind11::object capsule_of(std::unique_ptr<gpu::Device> device) {
    const auto destroy = [](PyObject* capsule) {
        delete static_cast<gpu::Device*>(PyCapsule_GetPointer(capsule, capsule_name()));
    };
    auto capsule = pybind11::reinterpret_steal<pybind11::object>(PyCapsule_New(device.get(), capsule_name(), destroy));
    if (!capsule) throw pybind11::error_already_set();
    (void)device.release();
    return capsule;
}

}  // namespace device_module
}  // namespace crayon
