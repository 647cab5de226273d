// Limits how much a normalizer, a pre-tokenizer or a decoder may lengthen a text.
#pragma once

#include <cstddef>
#include <string>

#include "crayon/support/error.h"

namespace crayon {

constexpr size_t kMostGrowth = 1024;
constexpr size_t kFreeGrowth = size_t(1) << 20;

// Sixty steps that each double a text would make 2^60 bytes of one. No sensible tokenizer comes near this limit. Each
// step checks before it allocates.
inline void check_growth(size_t before, size_t after, const char* what = "normalizer") {
    if (after > kFreeGrowth && (after - kFreeGrowth) / kMostGrowth > before)
        throw Error(ErrorKind::vocabulary, std::string("the ") + what + " makes more than " +
                                               std::to_string(kMostGrowth) + " bytes of each byte");
}

}  // namespace crayon
