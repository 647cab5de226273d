// How long a normalizer may make a text.
#pragma once

#include <cstddef>
#include <string>

#include "crayon/error.h"

namespace crayon {

constexpr size_t kMostGrowth = 1024;
constexpr size_t kFreeGrowth = size_t(1) << 20;

// Steps of a normalizer that each double a text make 2^60 bytes of one. None that was meant comes near this, and a step
// asks before it takes the memory.
inline void check_growth(size_t before, size_t after) {
    if (after > kFreeGrowth && (after - kFreeGrowth) / kMostGrowth > before)
        throw Error(ErrorKind::vocabulary,
                    "the normalizer makes more than " + std::to_string(kMostGrowth) + " bytes of each byte");
}

}  // namespace crayon
