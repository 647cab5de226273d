// Which neighbours hang together in a text whose spaces are to become U+2581, and where it can be cut.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "bpe/char_pairs.h"
#include "crayon/support/bytes.h"
#include "crayon/support/cpu.h"
#include "unicode/utf8_chars.h"

namespace crayon {

struct Char {
    uint32_t code_point;
    uint32_t size;
};

// The character at `at` of text that is UTF-8.
inline Char char_at(Bytes text, size_t at) {
    const uint8_t* const p = text.data + at;
    const size_t size = char_size(text, at);
    switch (size) {
        case 1:
            return {p[0] & 0x7Fu, 1};
        case 2:
            return {(p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu), 2};
        case 3:
            return {(p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu), 3};
        default:
            return {(p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu), 4};
    }
}

// Of 64 bytes: those that hang together with the byte before, where both are ASCII; those that are not ASCII; those in
// the middle of a character.
struct PairMasks {
    uint64_t joined, high, continuations;
};

class SpacedPairs {
  public:
    SpacedPairs() = default;
    SpacedPairs(const CharPairs& pairs, CpuLevel level);

    bool joins(uint32_t before, uint32_t after) const { return pairs_.joins(spelled(before), spelled(after)); }

    // A bit for each of the up to 64 bytes from `at` (not 0) on before which the text can be cut. `last` is the
    // character before them, then the last one that begins in them.
    uint64_t cuts(Bytes text, size_t at, size_t size, uint32_t* last) const;

  private:
    static constexpr uint32_t kMark = 0x2581;  // kSpaceMark
    static constexpr size_t kBytes = 64;

    static uint32_t spelled(uint32_t c) { return c == ' ' ? kMark : c; }

    CharPairs pairs_;
    std::vector<uint8_t> ascii_;
    PairMasks (*masks_)(const uint8_t* ascii, const uint8_t* p) = nullptr;
};

// What `masks_` is, of the bytes from p[-1] to p[63], and what it finds ASCII pairs in: here 1 where two bytes, as they
// lie in a text, loaded as one number, hang together.
constexpr size_t kAsciiPairs = 128 << 8;
PairMasks pair_masks_scalar(const uint8_t* ascii, const uint8_t* p);
// Here the bit before % 8 of byte before / 8 * 128 + after.
constexpr size_t kAsciiPlanes = 16 * 128;
PairMasks pair_masks_avx512(const uint8_t* ascii, const uint8_t* p);

}  // namespace crayon
