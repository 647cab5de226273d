// Which neighbours hang together in a text whose spaces are to become U+2581, and where it can be cut.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "bpe/char_pairs.h"
#include "crayon/support/bytes.h"
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

class SpacedPairs {
  public:
    SpacedPairs() = default;
    explicit SpacedPairs(const CharPairs& pairs) : pairs_(pairs), ascii_(kAsciiPairs) {
        const auto spelled = [](uint32_t c) { return c == ' ' ? kMark : c; };
        for (uint32_t before = 0; before < 128; ++before)
            for (uint32_t after = 0; after < 128; ++after)
                ascii_[ascii_pair(before, after)] = pairs.joins(spelled(before), spelled(after));
    }

    bool joins(uint32_t before, uint32_t after) const {
        return pairs_.joins(before == ' ' ? kMark : before, after == ' ' ? kMark : after);
    }

    // A bit for each of the up to 64 bytes from `at` (not 0) on before which the text can be cut. `last` is the
    // character before them, then the last one that begins in them.
    uint64_t cuts(Bytes text, size_t at, size_t size, uint32_t* last) const;

  private:
    static constexpr uint32_t kMark = 0x2581;  // kSpaceMark
    static constexpr size_t kBytes = 64;
    static constexpr size_t kAsciiPairs = 128 << 8;

    // Two bytes as they lie in a text, loaded as one number.
    static uint16_t ascii_pair(uint32_t before, uint32_t after) {
        const uint8_t bytes[2] = {uint8_t(before), uint8_t(after)};
        uint16_t pair;
        std::memcpy(&pair, bytes, sizeof pair);
        return pair;
    }

    CharPairs pairs_;
    std::vector<uint8_t> ascii_;  // by ascii_pair: 1 where the two hang together
};

}  // namespace crayon
