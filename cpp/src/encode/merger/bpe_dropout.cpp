#include "encode/merger/bpe_dropout.h"

#include <chrono>
#include <exception>
#include <random>

namespace crayon {

Dropout::Dropout(float probability)
    : probability_(probability),
      state_(uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()) ^
             reinterpret_cast<uintptr_t>(this)) {
    try {
        std::random_device device;
        state_ ^= uint64_t(device()) << 32 | device();
    } catch (const std::exception&) {  // no random device: use the clock
    }
}

}  // namespace crayon
