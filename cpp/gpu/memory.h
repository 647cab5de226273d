// Owners of a device's memory and streams.
#pragma once

#include <utility>

#include "pool.h"

namespace crayon {
namespace gpu {

// A stream. Its destructor waits for its work.
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

// Waits for a stream when it is destroyed, also after a failure, so that memory of running copies may be freed
// afterwards.
class Settled {
  public:
    Settled(Device* device, Stream stream) : device_(device), stream_(stream) {}
    Settled(const Settled&) = delete;
    Settled& operator=(const Settled&) = delete;
    ~Settled() { (void)device_->wait(stream_); }

  private:
    Device* const device_;
    const Stream stream_;
};

// Memory that grows. Growing discards the contents.
template <typename T, bool kPinned = false>
class Buffer {
  public:
    explicit Buffer(PoolPtr pool) : pool_(std::move(pool)) {}
    Buffer(Buffer&& o) noexcept
        : pool_(o.pool_), data_(std::exchange(o.data_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer& operator=(Buffer&& o) noexcept {
        std::swap(pool_, o.pool_);
        std::swap(data_, o.data_);
        std::swap(bytes_, o.bytes_);
        return *this;
    }
    ~Buffer() { free(); }

    T* make_room(size_t count) {
        const size_t bytes = (count > 0 ? count : 1) * sizeof(T);
        if (bytes > bytes_) {
            free();
            size_t room = 0;
            data_ = static_cast<T*>(pool_->take(bytes, kPinned, &room));
            bytes_ = room;
        }
        // Forbids use of the rest of the allocation.
        if (!kPinned) pool_->device().show_use(data_, bytes, bytes_);
        return data_;
    }
    T* data() const { return data_; }

    // Returns the memory to the pool.
    void free() {
        if (data_ == nullptr) return;
        if (!kPinned) pool_->device().show_use(data_, 0, bytes_);
        pool_->give(std::exchange(data_, nullptr), std::exchange(bytes_, 0), kPinned);
    }
    // Returns the memory to the device. Other libraries' streams may still use it; the driver waits for them.
    void give_up() {
        if (data_ != nullptr) pool_->give_up(std::exchange(data_, nullptr), std::exchange(bytes_, 0), kPinned);
    }

  private:
    PoolPtr pool_;
    T* data_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace gpu
}  // namespace crayon
