// Passes a device from its extension module to crayon_hf._core.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "gpu/device.h"

namespace crayon::python {

// The capsule owns the device.
inline pybind11::object capsule_of(std::unique_ptr<gpu::Device> device) {
    const auto destroy = [](PyObject* capsule) {
        delete static_cast<gpu::Device*>(PyCapsule_GetPointer(capsule, gpu::device_name()));
    };
    auto capsule =
        pybind11::reinterpret_steal<pybind11::object>(PyCapsule_New(device.get(), gpu::device_name(), destroy));
    if (!capsule) throw pybind11::error_already_set();
    (void)device.release();
    return capsule;
}

}  // namespace crayon::python
