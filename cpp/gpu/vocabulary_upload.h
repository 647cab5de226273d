// Copies a vocabulary's tables to a device's memory.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "crayon/engine/engine.h"
#include "memory.h"

namespace crayon {
namespace gpu {

// Returns why a GPU cannot encode with this engine's vocabulary, or "" if it can.
std::string why_unsupported(const Engine& engine);

// Returns Tables::byte_flags, without kAddedFlag.
std::array<uint8_t, 256> byte_flags();

class Vocabulary {
  public:
    // `engine` must be supported. The constructor waits until the upload in the stream is complete.
    Vocabulary(const Engine& engine, const PoolPtr& pool, Stream stream);
    const Tables& tables() const { return tables_; }

  private:
    template <typename T>
    const T* upload(const T* data, size_t count);

    PoolPtr pool_;
    Stream stream_;
    std::vector<Buffer<uint8_t>> buffers_;
    Tables tables_{};
};

}  // namespace gpu
}  // namespace crayon
