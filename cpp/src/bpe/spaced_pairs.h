// Which neighbours hang together in a text whose spaces are to become U+2581, and where it can be cut.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bpe/char_pairs.h"
#include "crayon/support/bytes.h"
#include "support/bits.h"
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
    explicit SpacedPairs(const CharPairs& pairs) : pairs_(pairs) {
        std::copy_n(pairs.words, CharPairs::kAsciiWords, ascii_);
        const auto set = [this](uint32_t before, uint32_t after, bool joins) {
            uint64_t& word = ascii_[before << 1 | after >> 6];
            const uint64_t bit = uint64_t(1) << (after & 63);
            word = joins ? word | bit : word & ~bit;
        };
        for (uint32_t c = 0; c < 128; ++c) {
            const uint32_t spelled = c == ' ' ? kMark : c;
            set(' ', c, pairs.joins(kMark, spelled));
            set(c, ' ', pairs.joins(spelled, kMark));
        }
    }

    bool joins(uint32_t before, uint32_t after) const {
        if ((before | after) < 128) return ascii_[before << 1 | after >> 6] >> (after & 63) & 1;
        return pairs_.joins(before == ' ' ? kMark : before, after == ' ' ? kMark : after);
    }

    // A bit for each of the up to 64 bytes from `at` (not 0) on before which the text can be cut. `last` is the
    // character before them, then the last one that begins in them.
    uint64_t cuts(Bytes text, size_t at, size_t size, uint32_t* last) const {
        const uint8_t* const p = text.data + at;
        uint64_t joined = 0;
        uint8_t any = 0;
        for (size_t i = 0; i < size; ++i) {
            any |= p[i];
            const uint32_t before = p[ptrdiff_t(i) - 1] & 0x7Fu, after = p[i];
            joined |= (ascii_[before << 1 | (after >> 6 & 1)] >> (after & 63) & 1) << i;
        }
        uint64_t cuts = ~joined & ~uint64_t(0) >> (64 - size);
        uint64_t others = uint64_t(p[-1] >> 7);
        if (any >= 0x80)
            for (size_t i = 0; i < size; ++i) others |= uint64_t(p[i] >> 7) << i;
        if (p[-1] < 0x80) *last = p[-1];
        if (others == 0) {
            *last = p[size - 1];
            return cuts;
        }
        // What is not ASCII, and what follows it, one by one.
        for (uint64_t left = others | others << 1; left != 0; left &= left - 1) {
            const size_t i = lowest_set_bit(left);
            if (i >= size) break;
            const uint64_t bit = uint64_t(1) << i;
            cuts &= ~bit;
            if ((p[i] & 0xC0) == 0x80) continue;
            const uint32_t before = p[ptrdiff_t(i) - 1] < 0x80 ? p[ptrdiff_t(i) - 1] : *last;
            const uint32_t now = char_at(text, at + i).code_point;
            if (!joins(before, now)) cuts |= bit;
            *last = now;
        }
        if (p[size - 1] < 0x80) *last = p[size - 1];
        return cuts;
    }

  private:
    static constexpr uint32_t kMark = 0x2581;  // kSpaceMark

    CharPairs pairs_;
    uint64_t ascii_[CharPairs::kAsciiWords];  // of pairs of ASCII characters, as in CharPairs
};

}  // namespace crayon
