// Which pairs of neighbouring characters a merge can join: those inside the strings that merges make. Between any
// others a text can be cut before it is merged, and a cut that is missing costs time alone, so the set may say "joins"
// too often, never too seldom.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/bytes.h"

namespace crayon {

// The section: a bit for each pair of ASCII characters at a * 128 + b; a word of flags; then a power of two of words in
// which each other pair has the bit pair_hash(a << 21 | b).
struct CharPairs {
    static constexpr size_t kAsciiWords = 128 * 128 / 64;
    static constexpr size_t kFixedWords = kAsciiWords + 1;
    static constexpr uint64_t kTextOnly = 1;  // flag: no merge works on the token of a byte

    const uint64_t* words = nullptr;
    uint32_t shift = 0;

    CharPairs() = default;
    // Of a section that was verified.
    explicit CharPairs(Bytes section);

    bool is_text_only() const { return words[kAsciiWords] & kTextOnly; }
    bool joins_ascii(uint32_t a, uint32_t b) const {
        const uint32_t bit = a << 7 | b;
        return words[bit >> 6] >> (bit & 63) & 1;
    }
    bool joins(uint32_t a, uint32_t b) const { return (a | b) < 128 ? joins_ascii(a, b) : joins_others(a, b); }
    // Of two that are not both ASCII.
    bool joins_others(uint32_t a, uint32_t b) const {
        const uint64_t bit = pair_hash(pair_key(a, b), shift);
        return words[kFixedWords + (bit >> 6)] >> (bit & 63) & 1;
    }
};

// Of the strings that merges make, which are UTF-8.
std::vector<uint64_t> build_char_pairs(const std::vector<std::string_view>& strings, bool text_only);

// Whether a section has the size of one.
bool is_char_pairs_size(size_t bytes);

}  // namespace crayon
