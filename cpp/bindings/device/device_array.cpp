#include "device_array.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace crayon::python {
namespace {

// A DLPack tensor and the arrays to which it points. The tensor's deleter frees it.
template <typename Managed>
struct Export {
    std::shared_ptr<void> memory;
    int64_t shape, stride = 1;
    Managed managed{};
};

template <typename Managed>
void delete_export(Managed* managed) {
    delete static_cast<Export<Managed>*>(managed->owner);
}

template <typename Managed>
Managed* export_vector(std::shared_ptr<void> memory, void* data, dlpack::Device device, size_t size, size_t item) {
    auto* const made = new Export<Managed>{std::move(memory), int64_t(size)};
    made->managed.tensor = {data, device, 1, dlpack::kInt, uint8_t(item * 8), 1, &made->shape, &made->stride, 0};
    made->managed.owner = made;
    made->managed.deleter = delete_export<Managed>;
    return &made->managed;
}

template <typename Managed>
py::capsule dlpack_capsule(Managed* managed, const char* name) {
    // A consumer that takes the tensor renames the capsule. With its first name, the capsule still owns the tensor.
    const auto destroy = [](PyObject* capsule) {
        const char* const now = PyCapsule_GetName(capsule);
        if (now == nullptr || (std::strcmp(now, dlpack::kName) != 0 && std::strcmp(now, dlpack::kVersionedName) != 0))
            return;
        auto* const left = static_cast<Managed*>(PyCapsule_GetPointer(capsule, now));
        left->deleter(left);
    };
    PyObject* const capsule = PyCapsule_New(managed, name, destroy);
    if (capsule == nullptr) {
        managed->deleter(managed);
        throw py::error_already_set();
    }
    return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace

dlpack::Device dlpack_device(const gpu::Device& device) {
    const std::string kind = device.kind();
    if (kind == "cuda") return {dlpack::kCuda, device.index()};
    if (kind == "rocm") return {dlpack::kRocm, device.index()};
    return {dlpack::kCpu, 0};
}

py::dtype DeviceArray::dtype() const {
    if (item_ == 1) return py::dtype::of<int8_t>();
    return item_ == sizeof(int32_t) ? py::dtype::of<int32_t>() : py::dtype::of<int64_t>();
}

void DeviceArray::read(void* to) const {
    gpu::Device& device = *device_->get();
    const gpu::OwnStream stream(&device);
    gpu::check(device, device.after(stream, nullptr), "reading an array");  // views may be written to
    gpu::check(device, device.to_host(to, data_, bytes(), stream), "reading an array");
    stream.wait("reading an array");
}

DeviceArray::Owner DeviceArray::copied_to_host() const {
    const Owner memory(std::malloc(bytes() + 1), std::free);
    if (memory == nullptr) throw std::bad_alloc();
    read(memory.get());
    return memory;
}

py::array DeviceArray::to_numpy() const {
    device_->check_process();
    py::array array(dtype(), std::vector<py::ssize_t>{py::ssize_t(size_)});
    void* const to = array.mutable_data();
    const py::gil_scoped_release release;
    read(to);
    return array;
}

py::capsule DeviceArray::to_dlpack(const py::object& stream, const py::object& max_version, const py::object& where,
                                   const py::object& copy) const {
    device_->check_process();
    const dlpack::Device own = dlpack_device(*device_->get());
    dlpack::Device wanted = own;
    if (!where.is_none()) {
        const auto [type, index] = where.cast<std::pair<int32_t, int32_t>>();
        wanted = {type, index};
    }
    const bool moves = wanted.type != own.type || wanted.index != own.index;
    if (moves && wanted.type != dlpack::kCpu)
        throw py::buffer_error("the array is on " + device_->label() +
                               ": it can be exported there and to the CPU, not to device " +
                               std::to_string(wanted.index) + " of type " + std::to_string(wanted.type));
    const bool copies = !copy.is_none() && copy.cast<bool>();
    if (moves && !copy.is_none() && !copies)
        throw py::buffer_error("the array is on " + device_->label() + ": the CPU can only get a copy of it");
    // The array was complete before it was returned, so no stream has to wait.
    if (wanted.type == dlpack::kCpu && !moves && !stream.is_none() && stream.cast<int64_t>() != -1)
        throw py::buffer_error("stream is " + std::string(py::str(stream)) + ", and the CPU has none: expected None");

    std::shared_ptr<void> memory = memory_;
    void* data = data_;
    if (moves || copies) {
        const py::gil_scoped_release release;
        if (moves || own.type == dlpack::kCpu) {
            memory = copied_to_host();
            data = memory.get();
        } else {
            gpu::Device& device = *device_->get();
            gpu::Buffer<uint8_t> twin(std::make_shared<gpu::Pool>(&device));
            data = twin.make_room(bytes());
            const gpu::OwnStream own(&device);
            gpu::check(device, device.after(own, nullptr), "copying an array");
            gpu::check(device, device.copy(data, data_, bytes(), own), "copying an array");
            own.wait("copying an array");
            auto kept = std::make_shared<Kept<uint8_t>>(device_, std::move(twin));
            kept->has_views = true;
            memory = std::move(kept);
        }
    } else {
        memory_->has_views = true;
    }
    const bool versioned = !max_version.is_none() && max_version.cast<std::pair<uint32_t, uint32_t>>().first >= 1;
    if (!versioned)
        return dlpack_capsule(export_vector<dlpack::Managed>(std::move(memory), data, wanted, size_, item_),
                              dlpack::kName);
    auto* const managed = export_vector<dlpack::ManagedVersioned>(std::move(memory), data, wanted, size_, item_);
    managed->major = dlpack::kMajor;
    managed->minor = dlpack::kMinor;
    managed->flags = moves || copies ? dlpack::kIsCopied : 0;
    return dlpack_capsule(managed, dlpack::kVersionedName);
}

}  // namespace crayon::python
