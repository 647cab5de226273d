// How long a normalizer and a pre-tokenizer may make a text, and a decoder the tokens' strings.
#pragma once

#include <cstddef>
#include <string>

#include "crayon/support/error.h"

namespace crayon {

constexpr size_t kMostGrowth = 1024;
constexpr size_t kFreeGrowth = size_t(1) << 20;

// Steps that each double a text make 2^60 bytes of one, in 60 of them. None that was meant comes near this, and a step
// asks before it takes the memory.
inline void check_growth(size_t before, size_t after, const char* what = "normalizer") {
    if (after > kFreeGrowth && (after - kFreeGrowth) / kMostGrowth > before)
        throw Error(ErrorKind::vocabulary, std::string("the ") + what + " makes more than " +
                                               std::to_string(kMostGrowth) + " bytes of each byte");
}

}  // namespace crayon
