// Bit scanning: C++17 lacks <bit>.
#pragma once

#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace crayon {

// The index of the lowest set bit. `word` must not be zero.
inline uint32_t lowest_set_bit(uint64_t word) {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanForward64(&index, word);
    return uint32_t(index);
#else
    return uint32_t(__builtin_ctzll(word));
#endif
}

// Collects the lowest bit of each byte of a word that was loaded from memory. The first byte's bit becomes bit 0.
inline uint64_t lowest_bits_of_bytes(uint64_t word) {
    return (word & 0x0101010101010101u) * 0x0102040810204080u >> 56;
}

}  // namespace crayon
