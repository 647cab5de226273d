// Limits how much a normalizer, a pre-tokenizer or a decoder may lengthen a text.
#pragma once

#include <cstddef>
#include <string>

#include "crayon/support/error.h"

namespace crayon {

constexpr size_t kMostGrowth = 1024;
constexpr size_t kFreeGrowth = size_t(1) << 20;

// Throws if a step makes a text of `after` bytes from one of `before` bytes, and that is too many. Each step calls this
// before it allocates: sixty steps that each double a text would make 2^60 bytes of one.
inline void check_growth(size_t before, size_t after, const char* what = "normalizer") {
    if (after > kFreeGrowth && (after - kFreeGrowth) / kMostGrowth > before)
        throw Error(ErrorKind::vocabulary, std::string("the ") + what + " makes more than " +
                                               std::to_string(kMostGrowth) + " bytes of each byte");
}

}  // namespace crayon
