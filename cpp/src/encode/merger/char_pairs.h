// The pairs of neighbouring characters that a merge can join: those inside the strings that merges make. A text can be
// cut between any other pair before it is merged. A missing cut only costs time, so the set may have false positives,
// but no false negatives.
//
// Example: if merges make only "ab" and "abc", the pairs are ab and bc, and "abcab" can be cut between c and a.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/bytes.h"

namespace crayon {

// The section: a bit for each pair of ASCII characters at a * 128 + b. Then a word of flags. Then a power of two of
// words, in which each other pair sets the bit pair_hash(a << 21 | b).
struct CharPairs {
    static constexpr size_t kAsciiWords = 128 * 128 / 64;
    static constexpr size_t kFixedWords = kAsciiWords + 1;
    static constexpr uint64_t kTextOnly = 1;  // flag: no merge works on the token of a byte

    const uint64_t* words = nullptr;
    uint32_t shift = 0;

    CharPairs() = default;
    // `section` must have been verified.
    explicit CharPairs(Bytes section);

    bool is_text_only() const { return words[kAsciiWords] & kTextOnly; }
    bool joins_ascii(uint32_t a, uint32_t b) const {
        const uint32_t bit = a << 7 | b;
        return words[bit >> 6] >> (bit & 63) & 1;
    }
    bool joins(uint32_t a, uint32_t b) const { return (a | b) < 128 ? joins_ascii(a, b) : joins_others(a, b); }
    // Whether a merge can join two characters that are not both ASCII.
    bool joins_others(uint32_t a, uint32_t b) const {
        const uint64_t bit = pair_hash(pair_key(a, b), shift);
        return words[kFixedWords + (bit >> 6)] >> (bit & 63) & 1;
    }
};

// Builds the section char_pairs from the strings that merges make, in UTF-8.
std::vector<uint64_t> build_char_pairs(const std::vector<std::string_view>& strings, bool text_only);

// Whether a section char_pairs can have this size.
bool is_char_pairs_size(size_t bytes);

}  // namespace crayon
