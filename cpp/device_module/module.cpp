// The extension modules crayon_hf._cuda and crayon_hf._hip. Each is this file, linked with cuda/device.cu compiled by
// nvcc or hip/device.hip compiled by hipcc. CRAYON_MODULE is the module's name.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <utility>

#include "bindings/device/device_capsule.h"
#include "gpu/gpu_runtime.h"

namespace py = pybind11;
namespace gpu = crayon::gpu;

namespace {

const char* class_name(gpu::Status status) {
    switch (status) {
        case gpu::Status::out_of_memory:
            return "DeviceOutOfMemoryError";
        case gpu::Status::unusable:
            return "DeviceUnavailableError";
        case gpu::Status::lost:
            return "DeviceLostError";
        default:
            return "DeviceError";
    }
}

py::list devices() {
    std::vector<gpu::DeviceInfo> found;
    {
        const py::gil_scoped_release release;
        found = gpu::find_devices();
    }
    py::list all;
    for (const gpu::DeviceInfo& device : found) {
        const auto name = py::reinterpret_steal<py::str>(
            PyUnicode_DecodeUTF8(device.name.c_str(), Py_ssize_t(device.name.size()), "replace"));
        all.append(py::make_tuple(device.index, name, device.memory, device.architecture));
    }
    return all;
}

py::dict versions() {
    gpu::Versions found;
    {
        const py::gil_scoped_release release;
        found = gpu::find_versions();
    }
    py::dict all;
    all["driver"] = found.driver;
    all["runtime"] = found.runtime;
    return all;
}

std::string why_unusable() {
    const py::gil_scoped_release release;
    return gpu::why_unusable();
}

py::object open(int index) {
    gpu::OpenedDevice opened;
    {
        const py::gil_scoped_release release;
        opened = gpu::open_device(index);
    }
    if (opened.device == nullptr) {
        const py::object type = py::module_::import("crayon_hf.errors").attr(class_name(opened.status));
        PyErr_SetString(type.ptr(),
                        (std::string(gpu::kind()) + ":" + std::to_string(index) + ": " + opened.error).c_str());
        throw py::error_already_set();
    }
    return crayon::python::capsule_of(std::move(opened.device));
}

}  // namespace

PYBIND11_MODULE(CRAYON_MODULE, m, py::mod_gil_not_used()) {
    m.doc() = "Kernels for GPUs, and what runs them.";
    m.def("devices", devices,
          "Return (index, name, bytes of memory, architecture) of each device; an empty list without a driver.");
    m.def("versions", versions,
          "Return the version that the driver supports and the runtime of this build; \"\" if unknown.");
    m.def("why_unusable", why_unusable, "Return why devices() is empty; \"\" if it is not.");
    m.def("open", open, py::arg("index"),
          "Return a device for crayon_hf._core, in a capsule. Raise DeviceUnavailableError if the device does not "
          "exist or this build has no code for it, and DeviceOutOfMemoryError.");
}
