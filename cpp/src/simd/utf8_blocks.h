// Writes UTF-8 with vectors of 16 bytes. Each code point is in a lane of 2 or 4 bytes, last byte first. A shuffle,
// selected by the lengths of the vector's code points, moves the bytes together. (After D. Lemire and W. Mula,
// "Transcoding billions of Unicode characters per second with SIMD instructions", 2022.)
//
// An instruction set provides the types Words and Longs, of eight code points of 16 bits and four of 32. Their masks
// have lanes of all ones or all zeros; `select` chooses by such a mask, and `bits` has one bit for each lane. The
// unnamed namespace is explained in class_lookup.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "crayon/simd/kernels.h"

namespace crayon {
namespace {

// The shuffle for each key, and the number of bytes that it gives.
struct Utf8Shuffles {
    std::array<std::array<uint8_t, 16>, 256> bytes;
    std::array<uint8_t, 256> sizes;
};

// The shuffles for vectors of `lanes` code points. Bit i of the key means one byte more for code point i, bit i + lanes
// two bytes more. Example of 4 lanes:
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

constexpr Utf8Shuffles kShufflesOf8 = utf8_shuffles(8), kShufflesOf4 = utf8_shuffles(4);

// All 16 bytes of a vector are written, and some may be surplus. This many units must follow, so that the surplus is
// inside the text's UTF-8.
constexpr size_t kUtf8Spare = 24;

template <typename V>
size_t write_shuffled(V v, const Utf8Shuffles& shuffles, size_t key, uint8_t* to) {
    v.write(shuffles.bytes[key].data(), to);
    return shuffles.sizes[key];
}

// Writes code points of one or two bytes. Returns the number of bytes.
template <typename Words>
size_t write_two(Words v, uint8_t* to) {
    const Words is_two = v.above(0x7F);
    const Words two = (v & Words::all(0x3F)) | (v.shifted_by_2() & Words::all(0x1F00)) | Words::all(0xC080);
    return write_shuffled(is_two.select(two, v), kShufflesOf8, is_two.bits(), to);
}

// Writes code points of any size. Returns the number of bytes.
template <typename Longs>
size_t write_four(Longs v, uint8_t* to) {
    const Longs parts = (v & Longs::all(0x3F)) | (v.template shifted<2>() & Longs::all(0x3F00)) |
                        (v.template shifted<4>() & Longs::all(0x3F0000)) |
                        (v.template shifted<6>() & Longs::all(0x07000000));
    const Longs two = v.above(0x7F), three = v.above(0x7FF), four = v.above(0xFFFF);
    const Longs marks = four.select(Longs::all(0xF0808080), three.select(Longs::all(0xE08080), Longs::all(0xC080)));
    const size_t key = Longs::bits(two ^ three ^ four, three);
    return write_shuffled(two.select(parts | marks, v), kShufflesOf4, key, to);
}

// Writes eight code points, at least one of them not ASCII.
template <typename Longs, typename Words>
bool write_eight(Words v, uint8_t** to) {
    if (!v.any_at_least(0x800)) {
        *to += write_two(v, *to);
        return true;
    }
    if (v.any_surrogate()) return false;
    *to += write_four(Longs::low(v), *to);
    *to += write_four(Longs::high(v), *to);
    return true;
}

template <typename Words, typename Longs, typename Unit>
Utf8Progress write_eights(const Unit* units, size_t n, uint8_t* const begin) {
    uint8_t* to = begin;
    size_t i = 0;
    for (; n - i >= kUtf8Spare; i += 8) {
        const Words v = Words::load(units + i);
        if (!v.any_at_least(0x80)) {
            v.write_ascii(to);
            to += 8;
        } else if (!write_eight<Longs>(v, &to)) {
            break;
        }
    }
    return {i, size_t(to - begin)};
}

template <typename Longs>
Utf8Progress write_fours(const uint32_t* units, size_t n, uint8_t* const begin) {
    uint8_t* to = begin;
    size_t i = 0;
    for (; n - i >= kUtf8Spare; i += 4) {
        const Longs v = Longs::load(units + i);
        if (v.any_not_unicode()) break;
        to += write_four(v, to);
    }
    return {i, size_t(to - begin)};
}

template <typename Words, typename Longs>
constexpr Utf8Writers utf8_writers_of() {
    return {write_eights<Words, Longs, uint8_t>, write_eights<Words, Longs, uint16_t>, write_fours<Longs>};
}

}  // namespace
}  // namespace crayon
