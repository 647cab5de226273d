#include "device_memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

namespace crayon::python {
namespace {

struct All {
    std::mutex mutex;
    std::vector<const DeviceMemory*> listed;
};

// Returns the registry of all encoders. It is never destroyed, because the last encoder may outlive static objects.
All& all() {
    static All* const made = new All;
    return *made;
}

template <typename Choose>
void trim_if(Choose&& choose) {
    All& every = all();
    const std::unique_lock<std::mutex> lock(every.mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;
    for (const DeviceMemory* const one : every.listed)
        if (choose(*one)) one->trim();
}

}  // namespace

void trim_devices() {
    trim_if([](const DeviceMemory&) { return true; });
}

DeviceMemory::DeviceMemory(gpu::Encoder* encoder, DevicePtr device) : encoder_(encoder), device_(std::move(device)) {
    All& every = all();
    const std::lock_guard<std::mutex> lock(every.mutex);
    every.listed.push_back(this);
}

DeviceMemory::~DeviceMemory() {
    All& every = all();
    const std::lock_guard<std::mutex> lock(every.mutex);
    every.listed.erase(std::find(every.listed.begin(), every.listed.end(), this));
}

void DeviceMemory::trim() const {
    if (device_->is_here()) encoder_->trim();
}

void DeviceMemory::trim_others() const {
    trim_if([this](const DeviceMemory& other) { return &other != this && other.is_on(*device_->get()); });
}

// Compares kind and index, because each tokenizer opens a Device object of its own for the same device.
bool DeviceMemory::is_on(const gpu::Device& device) const {
    const gpu::Device& own = *device_->get();
    return own.index() == device.index() && std::strcmp(own.kind(), device.kind()) == 0;
}

}  // namespace crayon::python
