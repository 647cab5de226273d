// Writes UTF-8 with vectors of 16 bytes. Each code point is in a lane of 2 or 4 bytes, last byte first. A shuffle,
// selected by the lengths of the vector's code points, moves the bytes together. (After D. Lemire and W. Mula,
// "Transcoding billions of Unicode characters per second with SIMD instructions", 2022.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "unicode/utf8_writer.h"

namespace crayon {

// The shuffle for each key, and the number of bytes that it gives.
struct Utf8Shuffles {
    std::array<std::array<uint8_t, 16>, 256> bytes;
    std::array<uint8_t, 256> sizes;
};

// For `lanes` lanes. Bit i of the key adds one byte to code point i, and bit i + lanes adds two. Example of 4 lanes:
//    key 0001_0010: lane 0 has 3 bytes, lane 1 has 2, lanes 2 and 3 have 1
constexpr Utf8Shuffles utf8_shuffles(size_t lanes) {
    Utf8Shuffles made{};
    for (size_t key = 0; key < 256; ++key) {
        uint8_t size = 0;
        for (size_t i = 0; i < lanes; ++i) {
            const size_t more = (key >> i & 1) + (lanes == 4 ? 2 * (key >> (i + lanes) & 1) : 0);
            for (size_t j = more + 1; j-- > 0;) made.bytes[key][size++] = uint8_t(16 / lanes * i + j);
        }
        made.sizes[key] = size;
        while (size < 16) made.bytes[key][size++] = 0x80;  // nothing
    }
    return made;
}

inline constexpr Utf8Shuffles kShufflesOf8 = utf8_shuffles(8), kShufflesOf4 = utf8_shuffles(4);

// All 16 bytes of a vector are written, and some may be surplus. This many units must follow, so that the surplus is
// inside the text's UTF-8.
constexpr size_t kUtf8Spare = 24;

// Eight code points, at least one of them not ASCII.
template <typename Set>
bool write_eight(typename Set::Words v, uint8_t** to) {
    if (!Set::any_at_least(v, 0x800)) {
        *to += Set::write_two(v, *to);
        return true;
    }
    if (Set::any_surrogate(v)) return false;
    *to += Set::write_four(Set::low(v), *to);
    *to += Set::write_four(Set::high(v), *to);
    return true;
}

template <typename Set, typename Unit>
Utf8Progress write_eights(const Unit* units, size_t n, uint8_t* const begin) {
    uint8_t* to = begin;
    size_t i = 0;
    for (; n - i >= kUtf8Spare; i += 8) {
        const typename Set::Words v = Set::load(units + i);
        if (!Set::any_at_least(v, 0x80)) {
            Set::write_ascii(v, to);
            to += 8;
        } else if (!write_eight<Set>(v, &to)) {
            break;
        }
    }
    return {i, size_t(to - begin)};
}

template <typename Set>
Utf8Progress write_fours(const uint32_t* units, size_t n, uint8_t* const begin) {
    uint8_t* to = begin;
    size_t i = 0;
    for (; n - i >= kUtf8Spare; i += 4) {
        const typename Set::Longs v = Set::load(units + i);
        if (Set::any_not_unicode(v)) break;
        to += Set::write_four(v, to);
    }
    return {i, size_t(to - begin)};
}

template <typename Set>
constexpr Utf8Writers utf8_writers_of() {
    return {write_eights<Set, uint8_t>, write_eights<Set, uint16_t>, write_fours<Set>};
}

}  // namespace crayon
