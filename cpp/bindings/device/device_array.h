// Results in a device's memory: vectors that other libraries read through DLPack.
#pragma once

#include <pybind11/numpy.h>

#include <atomic>

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
        return {device, std::make_shared<Kept<T>>(device, std::move(memory)), data, size, sizeof(T)};
    }

    size_t size() const { return size_; }
    size_t bytes() const { return size_ * item_; }
    py::dtype dtype() const;
    const OpenDevice& device() const { return *device_; }

    // Implements __dlpack__: returns a capsule with a view or a copy of the vector. Raises BufferError if it cannot
    // fulfil the request.
    py::capsule to_dlpack(const py::object& stream, const py::object& max_version, const py::object& where,
                          const py::object& copy) const;
    // A copy on the host.
    py::array to_numpy() const;

  private:
    using Owner = std::shared_ptr<void>;
    // Memory with exported views. The streams of the views' users may still use the memory when the views are released.
    struct Viewed {
        virtual ~Viewed() = default;
        std::atomic<bool> has_views{false};
    };
    template <typename T>
    struct Kept : Viewed {
        Kept(DevicePtr of, gpu::Buffer<T>&& taken)
            : device(std::move(of)), memory(std::make_unique<gpu::Buffer<T>>(std::move(taken))) {}
        ~Kept() override {
            if (!device->is_here())
                (void)memory.release();  // in a fork's child: leave it alone
            else if (this->has_views)
                memory->give_up();
        }
        DevicePtr device;  // destroyed last
        std::unique_ptr<gpu::Buffer<T>> memory;
    };

    DeviceArray(DevicePtr device, std::shared_ptr<Viewed> memory, void* data, size_t size, size_t item)
        : device_(std::move(device)), memory_(std::move(memory)), data_(data), size_(size), item_(item) {}

    Owner copied_to_host() const;
    void read(void* to) const;

    DevicePtr device_;
    std::shared_ptr<Viewed> memory_;
    void* data_;
    size_t size_, item_;  // number of items, bytes per item: int32, int64, or int8 for text
};

}  // namespace crayon::python
