// A device's memory as C++ owns things, and its failures as exceptions.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "device.h"

namespace crayon {
namespace gpu {

class DeviceError : public std::runtime_error {
  public:
    DeviceError(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
    Status status() const { return status_; }

  private:
    Status status_;
};

inline void check(const Device& device, Status status, const char* what) {
    if (status == Status::ok) return;
    throw DeviceError(status, std::string(device.kind()) + " device " + std::to_string(device.index()) + ", " + what +
                                  ": " + device.error());
}

// A stream, until everything in it is done.
class OwnStream {
  public:
    explicit OwnStream(Device* device) : device_(device) {
        check(*device_, device_->open_stream(&stream_), "opening a stream");
    }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    ~OwnStream() {
        (void)device_->wait(stream_);
        device_->close_stream(stream_);
    }
    operator Stream() const { return stream_; }
    void wait(const char* what) const { check(*device_, device_->wait(stream_), what); }

  private:
    Device* const device_;
    Stream stream_ = nullptr;
};

// Memory that grows and is not kept when it does: what it held is lost.
template <typename T, bool kPinned = false>
class Buffer {
  public:
    explicit Buffer(Device* device) : device_(device) {}
    Buffer(Buffer&& o) noexcept
        : device_(o.device_), data_(std::exchange(o.data_, nullptr)), room_(std::exchange(o.room_, 0)) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer& operator=(Buffer&& o) noexcept {
        std::swap(device_, o.device_);
        std::swap(data_, o.data_);
        std::swap(room_, o.room_);
        return *this;
    }
    ~Buffer() { free(); }

    T* make_room(size_t count) {
        if (count <= room_ && data_ != nullptr) return data_;
        free();
        void* memory = nullptr;
        const size_t bytes = (count > 0 ? count : 1) * sizeof(T);
        check(*device_, kPinned ? device_->allocate_pinned(bytes, &memory) : device_->allocate(bytes, &memory),
              "allocating memory");
        data_ = static_cast<T*>(memory);
        room_ = count;
        return data_;
    }
    T* data() const { return data_; }

  private:
    void free() {
        if (data_ != nullptr) kPinned ? device_->release_pinned(data_) : device_->release(data_);
        data_ = nullptr;
        room_ = 0;
    }

    Device* device_;
    T* data_ = nullptr;
    size_t room_ = 0;
};

}  // namespace gpu
}  // namespace crayon
