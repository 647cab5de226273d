// Where a pretoken of byte-level BPE can be cut before merging: between two characters that no merge joins.
//
// Proof that the encodings of the parts, concatenated, are the encoding of the whole. A border is cut only if no string
// that a merge makes crosses it with these bytes on both sides. Merging begins with single bytes, each on one side. The
// first merge across the border would make such a string. Every other merge works on one side, and neither needs nor
// changes the other side. On each side the next merge is always that side's own: the lowest rank, leftmost among
// equals.
//
// The test only looks at the characters before and after, in a filter. A false positive of the filter prevents a cut,
// which costs time. No cut is ever wrong. Byte vocabularies have tokens that begin or end inside a character, so the
// strings next to a border may also be parts of a character.
//
// Here a character is a lead byte with the continuation bytes (80 to BF) that it requires, whatever they encode. The
// proof is about bytes, so that suffices. No cut is made next to other bytes, or between two ASCII characters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/bytes.h"
#include "unicode/utf8_chars.h"

namespace crayon {

class ByteCuts {
    // The bytes as a number, the first one lowest.
    struct CharBytes {
        uint32_t bytes, size;
    };

  public:
    // One bit for each pair of a character's last byte (below C0) and the next character's first byte, at last * 256 +
    // first. The bit is set if the filter has keys with a part of a character for this pair. Most scripts have none.
    static constexpr size_t kPartWords = kByteCutsPartWords;

    ByteCuts() = default;
    // `section` must have a valid size.
    explicit ByteCuts(Array<uint64_t> section);

    // Walks over the characters of p[0, size), which is not empty.
    class Walk {
      public:
        Walk(const ByteCuts& cuts, const uint8_t* p, size_t size)
            : cuts_(cuts), p_(p), size_(size), left_(char_at(p, 0, size)) {}

        // The next border that can be cut; `size` at the end.
        size_t next() {
            while (true) {
                if (left_.bytes < 0x80) {
                    at_ = size_t(skip_ascii(p_ + at_, p_ + size_) - p_);
                    left_.bytes = p_[at_ - 1];
                } else {
                    at_ += left_.size;
                }
                if (at_ >= size_) return size_;
                const CharBytes right = char_at(p_, at_, size_);
                const bool joins = cuts_.joins(left_, right);
                left_ = right;
                if (!joins) return at_;
            }
        }

      private:
        const ByteCuts& cuts_;
        const uint8_t* p_;
        size_t size_, at_ = 0;
        CharBytes left_;
    };

  private:
    friend class ByteCutsBuilder;
    static constexpr uint32_t kNoChar = 0xFFFFFFFFu;  // not the bytes of any character
    static constexpr uint32_t kMark = 0xFFFFFF00u;    // with a byte in the low bits: for begin_key() and end_key()

    // Bytes that form no character are skipped one by one.
    static CharBytes char_at(const uint8_t* p, size_t at, size_t size) {
        uint32_t word;
        if (size - at >= 4) {
            std::memcpy(&word, p + at, 4);
        } else {
            // Pads with zeros, which are not continuation bytes.
            word = p[at];
            if (size - at > 1) word |= uint32_t(p[at + 1]) << 8;
            if (size - at > 2) word |= uint32_t(p[at + 2]) << 16;
        }
        if ((word & 0x80) == 0) return {word & 0x7F, 1};
        if ((word & 0xC0E0) == 0x80C0) return {word & 0xFFFF, 2};
        if ((word & 0xC0C0F0) == 0x8080E0) return {word & 0xFFFFFF, 3};
        if ((word & 0xC0C0C0F8u) == 0x808080F0u) return {word, 4};
        return {kNoChar, 1};
    }

    // A key has the bytes before and after the border. A lead byte tells the number of bytes, so a character's
    // beginning, its end and a whole character are never the same number.
    static uint64_t key(uint32_t left, uint32_t right) { return uint64_t(left) << 32 | right; }
    // begin_key() marks that keys exist for the character `left` and the beginning of a character with this first byte.
    // end_key() marks that keys exist for the end of a character with this last byte and any character with this first
    // byte.
    static uint64_t begin_key(uint32_t left, uint32_t first) { return key(left, kMark | first); }
    static uint64_t end_key(uint32_t last, uint32_t first) { return key(kMark | last, kMark | first); }
    static size_t part_bit(uint32_t last, uint32_t first) { return last << 8 | first; }

    // Each key sets two bits of one word. `shift` is 64 - log2(words).
    struct FilterBits {
        uint64_t word, bits;
    };
    static FilterBits place(uint64_t key, uint32_t shift) {
        const uint64_t hash = key_hash(key);
        // Two shifts, because a shift by 64 is undefined if the filter has one word.
        return {hash >> 1 >> (shift - 1),
                uint64_t(1) << (hash >> (shift - 6) & 63) | uint64_t(1) << (hash >> (shift - 12) & 63)};
    }
    bool has(uint64_t key) const {
        const FilterBits at = place(key, shift_);
        return (filter_[at.word] & at.bits) == at.bits;
    }

    bool joins(CharBytes left, CharBytes right) const {
        if (left.bytes == kNoChar || right.bytes == kNoChar) return true;
        const size_t part = part_bit(left.bytes >> (8 * (left.size - 1)), right.bytes & 0xFF);
        if (parts_[part >> 6] >> (part & 63) & 1 && joins_part(left, right)) return true;
        return has(key(left.bytes, right.bytes));
    }
    bool joins_part(CharBytes left, CharBytes right) const;
    bool joins_begin(uint32_t left, CharBytes right) const;

    const uint64_t* parts_ = nullptr;
    const uint64_t* filter_ = nullptr;
    uint32_t shift_ = 64;
};

// Builds the section byte_cuts from the strings that merges make.
std::vector<uint64_t> build_byte_cuts(const std::vector<std::string_view>& strings);

// Builds the section byte_cuts from the ids that merges make; ids may repeat.
template <typename BytesOf>
std::vector<uint64_t> build_byte_cuts(std::vector<uint32_t> products, BytesOf bytes_of) {
    std::sort(products.begin(), products.end());
    products.erase(std::unique(products.begin(), products.end()), products.end());
    std::vector<std::string_view> strings;
    for (const uint32_t id : products) strings.push_back(bytes_of(id));
    return build_byte_cuts(strings);
}

}  // namespace crayon
