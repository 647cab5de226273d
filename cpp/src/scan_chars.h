// Characters for the scanners: UTF-8 decoding and class look-up, inlined into each translation unit.
//
// Everything is in an unnamed namespace on purpose: the same source is compiled once with plain flags and once with
// AVX2 flags, and the linker must never take one for the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/unicode.h"

namespace crayon {

// Block number of each 128 code points, and the blocks. Block 0 is ASCII.
extern const uint8_t kClassIndex[8704];
extern const uint8_t kClassBlocks[231][128];

namespace {

constexpr uint8_t kClassMask = 0x07;

// Sets of classes as bit sets.
constexpr uint32_t set_of(CharClass c) {
    return 1u << static_cast<uint32_t>(c);
}
constexpr uint32_t kOthers = set_of(CharClass::other) | set_of(CharClass::mark);
constexpr uint32_t kLetters = set_of(CharClass::upper) | set_of(CharClass::lower) | set_of(CharClass::letter);
constexpr uint32_t kNumbers = set_of(CharClass::number);
constexpr uint32_t kNewlines = set_of(CharClass::newline);
constexpr uint32_t kSpaces = set_of(CharClass::space) | kNewlines;
// o200k and tekken: what can stand in the capital part of a word, in its small part, and in both.
constexpr uint32_t kCaseless = set_of(CharClass::letter) | set_of(CharClass::mark);
constexpr uint32_t kUppers = set_of(CharClass::upper) | kCaseless;
constexpr uint32_t kLowers = set_of(CharClass::lower) | kCaseless;

struct Char {
    uint32_t set;   // the set of its class alone
    uint32_t size;  // in bytes
};

inline bool is_continuation(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

// Unicode 15, table 3-7: the second byte's range rules out overlong forms, surrogates and what is past U+10FFFF.
inline Decoded decode_multibyte(const uint8_t* p, const uint8_t* end) {
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

inline Char read_multibyte(const uint8_t* p, const uint8_t* end) {
    const Decoded c = decode_multibyte(p, end);
    if (!c.valid) return {set_of(CharClass::other), 1};
    return {1u << (class_entry(c.code_point) & kClassMask), c.size};
}

inline Char read_char(const uint8_t* p, const uint8_t* end) {
    if (*p < 0x80) return {1u << (kClassBlocks[0][*p] & kClassMask), 1};
    return read_multibyte(p, end);
}

inline const uint8_t* skip_set(const uint8_t* p, const uint8_t* end, uint32_t set) {
    while (p < end) {
        const Char c = read_char(p, end);
        if (!(c.set & set)) break;
        p += c.size;
    }
    return p;
}

}  // namespace
}  // namespace crayon
