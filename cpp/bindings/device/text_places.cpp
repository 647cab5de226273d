#include "text_places.h"

#include <memory>
#include <utility>

#include "bindings/buffer_view.h"
#include "device_array.h"
#include "gpu/memory.h"

namespace crayon::python {
namespace {

// Returns uninitialized memory of a device.
DeviceArray taken(const py::object& capsule, size_t size) {
    const auto device = std::make_shared<OpenDevice>(capsule);
    gpu::Buffer<int8_t> memory(std::make_shared<gpu::Pool>(device->get()));
    memory.make_room(size);
    return DeviceArray::of(device, std::move(memory), size);
}

DeviceArray on_device(const py::object& capsule, const py::buffer& data) {
    const auto device = std::make_shared<OpenDevice>(capsule);
    const BufferView view(data);
    const Bytes bytes = view.all();
    gpu::Buffer<int8_t> memory(std::make_shared<gpu::Pool>(device->get()));
    int8_t* const to = memory.make_room(bytes.size);
    {
        const py::gil_scoped_release release;
        gpu::check(*device->get(), device->get()->to_device(to, bytes.data, bytes.size, nullptr), "copying text");
        gpu::check(*device->get(), device->get()->wait(nullptr), "copying text");
    }
    return DeviceArray::of(device, std::move(memory), bytes.size);
}

std::pair<size_t, size_t> memory_of(const py::object& capsule) {
    const OpenDevice device(capsule);
    size_t free = 0, total = 0;
    gpu::check(*device.get(), device.get()->memory(&free, &total), "asking for free memory");
    return {free, total};
}

py::array pinned(const py::object& capsule, size_t size) {
    struct Kept {
        explicit Kept(const py::object& of) : device(of) {}
        ~Kept() { device.get()->release_pinned(memory); }
        OpenDevice device;
        void* memory = nullptr;
    };
    auto kept = std::make_unique<Kept>(capsule);
    gpu::Device& device = *kept->device.get();
    gpu::check(device, device.allocate_pinned(size, &kept->memory), "allocating pinned memory");
    auto* const data = static_cast<uint8_t*>(kept->memory);
    const py::capsule owner(kept.release(), [](void* p) { delete static_cast<Kept*>(p); });
    return py::array_t<uint8_t>(py::ssize_t(size), data, owner);
}

}  // namespace

void bind_text_places(py::module_* testing) {
    testing->def("on_device", &on_device, py::arg("device"), py::arg("data"));
    testing->def("taken", &taken, py::arg("device"), py::arg("size"));
    testing->def("memory", &memory_of, py::arg("device"));
    testing->def("pinned", &pinned, py::arg("device"), py::arg("size"));
}

}  // namespace crayon::python
