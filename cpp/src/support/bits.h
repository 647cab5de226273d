// Bit scanning: C++17 has no <bit>.
#pragma once

#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace crayon {

// The number of the lowest bit that is set. Of a word that is not zero.
inline uint32_t lowest_set_bit(uint64_t word) {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanForward64(&index, word);
    return uint32_t(index);
#else
    return uint32_t(__builtin_ctzll(word));
#endif
}

}  // namespace crayon
