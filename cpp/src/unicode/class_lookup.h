// UTF-8 decoding and class lookup for the scanners, inlined into each translation unit.
//
// Everything is in an unnamed namespace. The same source is compiled once with plain flags and once with AVX2 flags,
// and the linker must never replace one copy by the other.
//
// Text is read through a position P up to an end E. On the CPU both are pointers to bytes. The kernels of a GPU have
// their own types (gpu/text.h), with their own class_entry_at and ascii_class_entry_at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/support/device_code.h"
#include "crayon/unicode/unicode.h"

namespace crayon {

// kClassIndex has the number of the block for each 128 code points, kClassBlocks the classes of each block. Block 0 is
// ASCII.
extern const uint8_t kClassIndex[8704];
extern const uint8_t kClassBlocks[231][128];

namespace {

constexpr uint8_t kClassMask = 0x07;

// Sets of classes as bit sets.
CRAYON_DEVICE constexpr uint32_t set_of(CharClass c) {
    return 1u << static_cast<uint32_t>(c);
}
constexpr uint32_t kOthers = set_of(CharClass::other) | set_of(CharClass::mark);
constexpr uint32_t kLetters = set_of(CharClass::upper) | set_of(CharClass::lower) | set_of(CharClass::letter);
constexpr uint32_t kNumbers = set_of(CharClass::number);
constexpr uint32_t kNewlines = set_of(CharClass::newline);
constexpr uint32_t kSpaces = set_of(CharClass::space) | kNewlines;
// o200k and tekken: characters of the capital part of a word, of its lowercase part, and of both.
constexpr uint32_t kCaseless = set_of(CharClass::letter) | set_of(CharClass::mark);
constexpr uint32_t kUppers = set_of(CharClass::upper) | kCaseless;
constexpr uint32_t kLowers = set_of(CharClass::lower) | kCaseless;

struct ClassifiedChar {
    uint32_t set;   // the set that has only the character's class
    uint32_t size;  // in bytes
};

CRAYON_DEVICE inline bool is_continuation(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

// Unicode 15, table 3-7: the second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
template <typename P, typename E>
CRAYON_DEVICE inline Decoded decode_multibyte(P p, E end) {
    const uint32_t lead = p[0];
    const size_t left = static_cast<size_t>(end - p);
    if (lead < 0xE0) {
        if (lead >= 0xC2 && left >= 2 && is_continuation(p[1])) {
            return {(lead & 0x1F) << 6 | (p[1] & 0x3Fu), 2, true};
        }
    } else if (lead < 0xF0) {
        if (left >= 3 && is_continuation(p[1]) && is_continuation(p[2])) {
            const uint32_t code_point = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
            if (code_point >= 0x800 && (code_point < 0xD800 || code_point > 0xDFFF)) return {code_point, 3, true};
        }
    } else if (left >= 4 && is_continuation(p[1]) && is_continuation(p[2]) && is_continuation(p[3])) {
        const uint32_t code_point = (lead & 0x0F) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
        if (code_point >= 0x10000 && code_point <= 0x10FFFF) return {code_point, 4, true};
    }
    return {0, 1, false};
}

inline uint32_t class_entry(uint32_t code_point) {
    return kClassBlocks[kClassIndex[code_point >> 7]][code_point & 127];
}
inline uint32_t class_entry_at(const uint8_t*, uint32_t code_point) {
    return class_entry(code_point);
}
inline uint32_t ascii_class_entry_at(const uint8_t* p) {
    return kClassBlocks[0][*p];
}

template <typename P, typename E>
CRAYON_DEVICE inline ClassifiedChar read_multibyte(P p, E end) {
    const Decoded c = decode_multibyte(p, end);
    if (!c.valid) return {set_of(CharClass::other), 1};
    return {1u << (class_entry_at(p, c.code_point) & kClassMask), c.size};
}

template <typename P, typename E>
CRAYON_DEVICE inline ClassifiedChar read_char(P p, E end) {
    if (*p < 0x80) return {1u << (ascii_class_entry_at(p) & kClassMask), 1};
    return read_multibyte(p, end);
}

template <typename P, typename E>
CRAYON_DEVICE inline P skip_set(P p, E end, uint32_t set) {
    while (p < end) {
        const ClassifiedChar c = read_char(p, end);
        if (!(c.set & set)) break;
        p += c.size;
    }
    return p;
}

}  // namespace
}  // namespace crayon
