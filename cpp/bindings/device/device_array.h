// What the encoder leaves in a device's memory: vectors that other libraries take over through DLPack.
#pragma once

#include <pybind11/numpy.h>

#include "dlpack.h"
#include "gpu/memory.h"
#include "open_device.h"

namespace crayon::python {

dlpack::Device dlpack_device(const gpu::Device& device);

class DeviceArray {
  public:
    template <typename T>
    static DeviceArray of(DevicePtr device, gpu::Buffer<T>&& memory, size_t size) {
        void* const data = memory.data();
        return {device, keep(device, std::move(memory)), data, size, sizeof(T)};
    }

    size_t size() const { return size_; }
    size_t bytes() const { return size_ * item_; }
    py::dtype dtype() const;
    const OpenDevice& device() const { return *device_; }

    // A capsule with a view, or with a copy. BufferError for what cannot be given.
    py::capsule to_dlpack(const py::object& stream, const py::object& max_version, const py::object& where,
                          const py::object& copy) const;
    // A copy on the host.
    py::array to_numpy() const;

  private:
    using Owner = std::shared_ptr<void>;

    DeviceArray(DevicePtr device, Owner memory, void* data, size_t size, size_t item)
        : device_(std::move(device)), memory_(std::move(memory)), data_(data), size_(size), item_(item) {}

    // In a child of a fork the memory is left as it is.
    template <typename T>
    static Owner keep(DevicePtr device, gpu::Buffer<T>&& memory) {
        struct Kept {
            DevicePtr device;  // goes last
            gpu::Buffer<T> memory;
        };
        return Owner(new Kept{std::move(device), std::move(memory)}, [](void* p) {
            auto* const kept = static_cast<Kept*>(p);
            if (kept->device->is_here()) delete kept;
        });
    }
    Owner copied_to_host() const;
    void read(void* to) const;

    DevicePtr device_;
    Owner memory_;
    void* data_;
    size_t size_, item_;  // items, bytes of one: int32, int64, or int8 of text
};

}  // namespace crayon::python
