// Validates UTF-8, a vector (window.h) at a time. Errors show in two neighbouring bytes, except the number of
// continuations after a lead. Three half bytes are looked up: each gives the set of errors that it allows, and an error
// is in all three sets. (J. Keiser, D. Lemire, "Validating UTF-8 in less than one instruction per byte", 2021.)
//
// A vector also provides:
// - high_half(): the high half of each byte
// - less(byte): each byte less `byte`, but not below 0
// - after<n>(before): the bytes n places before, with the last bytes of the vector before in front
//
// The unnamed namespace is explained in class_lookup.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/unicode/unicode.h"

namespace crayon {
namespace {

// The possible errors of a byte and the one before it, with their bits.
enum Mistake : uint8_t {
    kTooShort = 1 << 0,   // 11______ 0_______, 11______ 11______: a lead without a continuation
    kTooLong = 1 << 1,    // 0_______ 10______: a continuation after ASCII
    kOverlong3 = 1 << 2,  // 11100000 100_____: overlong
    kTooLarge = 1 << 3,   // 11110100 1001____, 11110100 101_____, 11110101 1001____ and so on: above U+10FFFF
    kSurrogate = 1 << 4,  // 11101101 101_____: a surrogate
    kOverlong2 = 1 << 5,  // 1100000_ 10______: overlong
    kOverlong4 = 1 << 6,  // 11110000 1000____: overlong; 11110101 1000____ and so on: above U+10FFFF
    kTwoInside = 1 << 7,  // 10______ 10______: an error unless a lead of three or four bytes precedes them
};
// The errors that any low half of the byte before allows.
constexpr uint8_t kAnyLow = kTooShort | kTooLong | kTwoInside;

// Tables of allowed errors: by the high half and by the low half of the byte before, and by the high half of the byte.
constexpr uint8_t kBeyond = kAnyLow | kTooLarge | kOverlong4;
constexpr uint8_t kInside = kTooLong | kOverlong2 | kTwoInside;
constexpr uint8_t kFirstHigh[16] = {kTooLong,
                                    kTooLong,
                                    kTooLong,
                                    kTooLong,
                                    kTooLong,
                                    kTooLong,
                                    kTooLong,
                                    kTooLong,  // 0_______
                                    kTwoInside,
                                    kTwoInside,
                                    kTwoInside,
                                    kTwoInside,  // 10______
                                    kTooShort | kOverlong2,
                                    kTooShort,
                                    kTooShort | kOverlong3 | kSurrogate,
                                    kTooShort | kTooLarge | kOverlong4};
constexpr uint8_t kFirstLow[16] = {kAnyLow | kOverlong3 | kOverlong2 | kOverlong4,
                                   kAnyLow | kOverlong2,
                                   kAnyLow,
                                   kAnyLow,
                                   kAnyLow | kTooLarge,
                                   kBeyond,
                                   kBeyond,
                                   kBeyond,
                                   kBeyond,
                                   kBeyond,
                                   kBeyond,
                                   kBeyond,
                                   kBeyond,
                                   kBeyond | kSurrogate,
                                   kBeyond,
                                   kBeyond};
constexpr uint8_t kSecondHigh[16] = {kTooShort,
                                     kTooShort,
                                     kTooShort,
                                     kTooShort,
                                     kTooShort,
                                     kTooShort,
                                     kTooShort,
                                     kTooShort,
                                     kInside | kOverlong3 | kOverlong4,
                                     kInside | kOverlong3 | kTooLarge,
                                     kInside | kSurrogate | kTooLarge,
                                     kInside | kSurrogate | kTooLarge,
                                     kTooShort,
                                     kTooShort,
                                     kTooShort,
                                     kTooShort};

// Nonzero where a byte is wrong.
template <typename V>
inline V mistakes(V v, V before) {
    const V first = v.template after<1>(before);
    const V fit = first.high_half().look_up(kFirstHigh) & (first & V::all(0x0F)).look_up(kFirstLow) &
                  v.high_half().look_up(kSecondHigh);
    // Two continuations are valid exactly at the third byte of three or four, and at the fourth byte of four.
    const V third = v.template after<2>(before).less(0xE0 - 0x80),
            fourth = v.template after<3>(before).less(0xF0 - 0x80);
    return ((third | fourth) & V::all(0x80)) ^ fit;
}

// The number of bytes from the beginning that are surely valid: whole characters, and all but about the last vector of
// valid text.
template <typename V>
size_t valid_prefix(const uint8_t* text, size_t size) {
    V before = V::all(0);
    bool was_ascii = true;
    size_t at = 0;
    for (; size - at >= V::kSize; at += V::kSize) {
        const V v = V::load(text + at);
        const bool is_ascii = v.is_ascii();
        if ((!is_ascii || !was_ascii) && mistakes(v, before).any()) break;
        was_ascii = is_ascii;
        before = v;
    }
    // Steps back to the start of a character, because the last character may continue after the vector, or be cut.
    for (size_t back = 0; back < 4 && at > 0; ++back) {
        const uint8_t last = text[at - 1];
        if (last < 0x80) return at;
        --at;
        if (last >= 0xC0) return at;
    }
    return at;
}

template <typename V>
size_t utf8_error_of(const uint8_t* text, size_t size) {
    const size_t valid = valid_prefix<V>(text, size);
    return valid + utf8_error(text + valid, size - valid);
}

}  // namespace
}  // namespace crayon
