#include "open_device.h"

#ifndef _WIN32
#include <unistd.h>
#endif

#include <cstring>

#include "gpu/memory.h"

namespace crayon::python {
namespace {

long process() {
#ifdef _WIN32
    return 0;  // Windows has no fork()
#else
    return long(getpid());
#endif
}

gpu::Device* device_in(const py::object& capsule) {
    if (!PyCapsule_CheckExact(capsule.ptr()))
        throw py::type_error("device is " + type_name(capsule) + ", expected the result of a device module's open()");
    const char* const name = PyCapsule_GetName(capsule.ptr());
    constexpr size_t kPrefix = sizeof gpu::kDeviceNamePrefix - 1;
    if (name == nullptr || std::strncmp(name, gpu::kDeviceNamePrefix, kPrefix) != 0)
        throw py::type_error("device is another kind of capsule, expected the result of a device module's open()");
    if (std::strcmp(name, gpu::device_name()) != 0)
        throw gpu::DeviceError(
            gpu::Status::unusable,
            std::string("the device has interface ") + (name + kPrefix) + ", and this build of crayon_hf has " +
                std::to_string(gpu::kDeviceAbi) +
                ": its extension modules were built from different sources; install it again, whole");
    return static_cast<gpu::Device*>(PyCapsule_GetPointer(capsule.ptr(), name));
}

}  // namespace

OpenDevice::OpenDevice(py::object capsule, bool measures)
    : capsule_(std::move(capsule)),
      device_(device_in(capsule_)),
      measured_(measures ? std::make_unique<gpu::MeasuredDevice>(device_) : nullptr),
      process_(process()) {}

OpenDevice::~OpenDevice() {
    measured_.reset();
    // The last array may be destroyed in a thread without the GIL, or after Python has finalized. Then leave the
    // capsule alone.
    if (Py_IsInitialized() == 0) {
        (void)capsule_.release();
        return;
    }
    const py::gil_scoped_acquire acquire;
    capsule_ = py::object();
}

std::string OpenDevice::label() const {
    return std::string(device_->kind()) + ":" + std::to_string(device_->index());
}

bool OpenDevice::is_here() const {
    return process_ == process();
}

void OpenDevice::check_process() const {
    if (!is_here())
        throw gpu::DeviceError(gpu::Status::lost,
                               label() + " was opened by process " + std::to_string(process_) +
                                   ", and a child that was forked from it cannot use it: start the child with "
                                   "multiprocessing's \"spawn\" or \"forkserver\", or encode on the CPU there");
}

}  // namespace crayon::python
