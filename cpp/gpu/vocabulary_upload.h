// A vocabulary in a device's memory.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "crayon/engine/engine.h"
#include "memory.h"

namespace crayon {
namespace gpu {

// Why an engine's vocabulary cannot be encoded with by a GPU; empty when it can.
std::string why_unsupported(const Engine& engine);

// Tables::byte_flags without added tokens.
std::array<uint8_t, 256> byte_flags();

class Vocabulary {
  public:
    // Of an engine that is supported. Complete when it is made, by way of the stream.
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
