#include "flat_input.h"

#include <pybind11/stl.h>

#include <cstring>

#include "device_array.h"

namespace crayon::python {
namespace {

bool is_memory_of(int32_t type, const std::string& kind) {
    if (kind == "cuda") return type == dlpack::kCuda || type == dlpack::kCudaManaged;
    return kind == "rocm" ? type == dlpack::kRocm : type == dlpack::kCpu;
}

std::string name_of(dlpack::Device device) {
    const std::string index = ":" + std::to_string(device.index);
    switch (device.type) {
        case dlpack::kCpu:
            return "the CPU";
        case dlpack::kCuda:
        case dlpack::kCudaManaged:
            return "cuda" + index;
        case dlpack::kRocm:
            return "rocm" + index;
        default:
            return "device" + index + " of DLPack's type " + std::to_string(device.type);
    }
}

}  // namespace

FlatInput::FlatInput(const py::object& data, const OpenDevice& device, gpu::Stream stream) : stream_(stream) {
    if (PyObject_CheckBuffer(data.ptr()) != 0) {
        view_.emplace(data);
        bytes_ = view_->all().data;
        size_ = view_->all().size;
        return;
    }
    if (py::hasattr(data, "__dlpack__") && py::hasattr(data, "__dlpack_device__"))
        take(data, device);
    else if (py::hasattr(data, "__cuda_array_interface__"))
        take_cuda_array(data.attr("__cuda_array_interface__"), device);
    else
        throw py::type_error("data is " + type_name(data) + ", expected bytes, a buffer, or an array with __dlpack__");
}

// numba.readthedocs.io, "CUDA Array Interface (Version 3)". Version 2 has no stream.
void FlatInput::take_cuda_array(const py::dict& array, const OpenDevice& device) {
    const auto item = [&](const char* name) { return array.contains(name) ? py::object(array[name]) : py::none(); };
    const std::string type = py::str(item("typestr"));
    if (type != "|u1" && type != "|i1") throw py::type_error("data is not of bytes: expected uint8 or int8");
    const auto shape = item("shape").cast<std::vector<int64_t>>();
    if (shape.size() != 1)
        throw py::value_error("data has " + std::to_string(shape.size()) + " dimensions, expected one");
    size_ = size_t(shape[0]);
    const py::object strides = item("strides");
    const int64_t step = strides.is_none() ? 1 : strides.cast<std::vector<int64_t>>().at(0);
    if (size_ > 1 && step != 1)
        throw py::value_error("data has a step of " + std::to_string(step) + ", expected contiguous bytes");
    if (!item("mask").is_none()) throw py::value_error("data has a mask");
    const auto address = item("data").cast<std::pair<uintptr_t, bool>>().first;
    bytes_ = reinterpret_cast<const uint8_t*>(address);
    if (size_ > 0 && (std::strcmp(device.get()->kind(), "cuda") != 0 || !device.get()->owns(bytes_)))
        throw py::value_error("data is on another device than the encoder, which is on " + device.label());
    is_on_device_ = true;
    // 1 and 2 are CUDA's own names of the default streams.
    const py::object filled_by = item("stream");
    if (!filled_by.is_none()) stream_ = reinterpret_cast<gpu::Stream>(filled_by.cast<uintptr_t>());
}

void FlatInput::take(const py::object& data, const OpenDevice& device) {
    const auto [type, index] = data.attr("__dlpack_device__")().cast<std::pair<int32_t, int32_t>>();
    const std::string kind = device.get()->kind();
    const bool is_host = type == dlpack::kCpu || type == dlpack::kCudaHost || type == dlpack::kRocmHost;
    is_on_device_ = is_memory_of(type, kind) && (is_host || index == device.get()->index());
    if (!is_host && !is_on_device_)
        throw py::value_error("data is on " + name_of({type, index}) + ", and the encoder on " + device.label() +
                              ": move one of them, or the data to the CPU");
    const py::object made = is_on_device_ && !is_host
                                ? data.attr("__dlpack__")(py::arg("stream") = reinterpret_cast<uintptr_t>(stream_))
                                : data.attr("__dlpack__")();
    PyObject* const capsule = made.ptr();
    if (PyCapsule_IsValid(capsule, dlpack::kName) != 0) {
        managed_.reset(static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, dlpack::kName)));
        PyCapsule_SetName(capsule, dlpack::kUsed);
        look_at(managed_->tensor);
    } else if (PyCapsule_IsValid(capsule, dlpack::kVersionedName) != 0) {
        versioned_.reset(static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, dlpack::kVersionedName)));
        PyCapsule_SetName(capsule, dlpack::kVersionedUsed);
        if (versioned_->major != dlpack::kMajor)
            throw py::buffer_error("data comes by DLPack " + std::to_string(versioned_->major) + ", expected " +
                                   std::to_string(dlpack::kMajor));
        look_at(versioned_->tensor);
    } else {
        throw py::type_error("__dlpack__ of " + type_name(data) + " gave " + type_name(made) +
                             ", expected a capsule that was not consumed before");
    }
}

void FlatInput::look_at(const dlpack::Tensor& tensor) {
    const bool is_byte = tensor.type_code == dlpack::kInt || tensor.type_code == dlpack::kUint;
    if (!is_byte || tensor.bits != 8 || tensor.lanes != 1)
        throw py::type_error("data is not of bytes: expected uint8 or int8");
    if (tensor.n_dimensions != 1)
        throw py::value_error("data has " + std::to_string(tensor.n_dimensions) + " dimensions, expected one");
    size_ = size_t(tensor.shape[0]);
    if (tensor.strides != nullptr && size_ > 1 && tensor.strides[0] != 1)
        throw py::value_error("data has a step of " + std::to_string(tensor.strides[0]) +
                              ", expected contiguous bytes");
    bytes_ = static_cast<const uint8_t*>(tensor.data) + (size_ > 0 ? tensor.byte_offset : 0);
}

}  // namespace crayon::python
