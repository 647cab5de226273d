// Finds which neighbouring characters merging can join, in a text whose spaces become U+2581, and where the text can be
// cut.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "crayon/simd/kernels.h"
#include "crayon/support/bytes.h"
#include "encode/merger/char_pairs.h"
#include "unicode/utf8_chars.h"

namespace crayon {

struct Utf8Char {
    uint32_t code_point;
    uint32_t size;
};

// The character at `at` of a UTF-8 text.
inline Utf8Char char_at(Bytes text, size_t at) {
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

class SpacedPairs {
  public:
    SpacedPairs() = default;
    SpacedPairs(const CharPairs& pairs, const Kernels& kernels);

    bool joins(uint32_t before, uint32_t after) const { return pairs_.joins(spelled(before), spelled(after)); }

    // Returns one bit for each of up to 64 bytes from `at` on, which is not 0: whether the text can be cut before the
    // byte. `last` is the character before these bytes, and becomes the last character that begins in them.
    uint64_t cuts(Bytes text, size_t at, size_t size, uint32_t* last) const;

  private:
    static constexpr uint32_t kMark = 0x2581;  // kSpaceMark
    static constexpr size_t kBytes = 64;

    static uint32_t spelled(uint32_t c) { return c == ' ' ? kMark : c; }

    CharPairs pairs_;
    std::vector<uint8_t> ascii_;
    PairMasks (*masks_)(const uint8_t* ascii, const uint8_t* p) = nullptr;
};

}  // namespace crayon
