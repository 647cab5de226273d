// The classes of a window's non-ASCII characters, for instruction sets that compare and look up 64 bytes at once. The
// unnamed namespace is explained in class_lookup.h.
//
// Bits are at the characters' first bytes until the end. Texts use few alphabets, so characters are processed by blocks
// of 64 code points, which differ only in their last byte. One lookup of all last bytes in the block's row of the class
// table serves every character of the block. For example, "é" (C3 A9, U+00E9) is entry 0x29 in the row of block 3.
// Ideographs and Hangul, with many blocks per window, are letters by range. An instruction set provides:
// - equal(bytes, b), at_least(bytes, b): masks of unsigned comparisons
// - rows(bytes, row): the flags below for the low six bits of each byte, from a row of 64 class-table entries
// - has(flags, f): the mask of bytes with flag f
#pragma once

#include "scan/scan_window.h"

namespace crayon {
namespace {

constexpr uint8_t kLetterFlag = 1;
constexpr uint8_t kUpperFlag = 2;
constexpr uint8_t kCaselessFlag = 4;
constexpr uint8_t kMarkFlag = 8;
constexpr uint8_t kNumberFlag = 16;
constexpr uint8_t kSpaceFlag = 32;
constexpr uint8_t kRareFlag = 64;  // a number or white space

// By class, twice, because table lookups need 16 bytes.
struct ClassFlags {
    uint8_t of[16];
};

constexpr ClassFlags class_flags() {
    constexpr uint8_t kFlags[8] = {
        0,
        kLetterFlag | kUpperFlag,
        kLetterFlag,
        kLetterFlag | kCaselessFlag,
        kCaselessFlag | kMarkFlag,
        kRareFlag | kNumberFlag,
        kRareFlag | kSpaceFlag,
        0,  // CR and LF are ASCII
    };
    ClassFlags flags{};
    for (int i = 0; i < 16; ++i) flags.of[i] = kFlags[i % 8];
    return flags;
}

constexpr ClassFlags kClassFlags = class_flags();

// `size`, limited to whole characters before the first invalid byte. The masks have the first bytes of characters of at
// least two, three and four bytes. Does not check the range of second bytes.
inline uint32_t whole_characters(uint64_t two, uint64_t three, uint64_t four, uint64_t continuations, uint32_t size) {
    const uint64_t wanted = two << 1 | three << 2 | four << 3;
    const uint64_t wrong = (wanted ^ continuations) & bits_below(size);
    if (wrong != 0) size = lowest_bit(wrong);
    if (size == 0) return 0;
    // Only one character can be cut, because its other bytes follow its first byte.
    uint64_t cut = two & bit(size - 1);
    if (size >= 2) cut |= three & bit(size - 2);
    if (size >= 3) cut |= four & bit(size - 3);
    return cut == 0 ? size : lowest_bit(cut);
}

// Ideographs (U+4000 to U+9FFF without the hexagrams) and Hangul syllables (U+AC00 to U+D77F).
template <typename Set>
inline uint64_t letters_by_range(const typename Set::Bytes& bytes) {
    const uint64_t from_e4 = Set::at_least(bytes, 0xE4);
    if (from_e4 == 0) return 0;
    const uint64_t from_ea = Set::at_least(bytes, 0xEA);
    uint64_t found = from_e4 & ~from_ea & ~(Set::equal(bytes, 0xE4) & Set::equal(bytes, 0xB7) >> 1);
    const uint64_t hangul = from_ea & ~Set::at_least(bytes, 0xEE);
    if (hangul != 0) {
        const uint64_t low = Set::equal(bytes, 0xEA) & ~(Set::at_least(bytes, 0xB0) >> 1);
        const uint64_t high = Set::equal(bytes, 0xED) & Set::at_least(bytes, 0x9E) >> 1;
        found |= hangul & ~low & ~high;
    }
    return found;
}

// The block of the character at p: its code point without the lowest six bits. `tail` is the number of its bytes after
// the first. Overlong characters and surrogates may pass. Returns false if no valid character begins so.
inline bool block_of(const uint8_t* p, uint32_t* block, uint32_t* tail) {
    const uint32_t lead = p[0];
    if (lead < 0xE0) {
        *tail = 1;
        *block = lead & 0x1F;
        return lead >= 0xC2;
    }
    if (lead < 0xF0) {
        *tail = 2;
        *block = (lead & 0x0F) << 6 | (p[1] & 0x3Fu);
        return *block >= 0x20 && (*block < 0x360 || *block > 0x37F);
    }
    *tail = 3;
    *block = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    return *block >= 0x400 && *block < 0x4400;
}

// Completes the masks of the `size` bytes at p. Returns how many of these are usable.
template <typename Set, Family family>
inline uint32_t classify_blocks(const uint8_t* p, const typename Set::Bytes& bytes, uint64_t not_ascii, uint32_t size,
                                Masks& m) {
    constexpr bool cased = rules_of(family).words == Words::cased;
    const uint64_t two = Set::at_least(bytes, 0xC0);
    const uint64_t three = Set::at_least(bytes, 0xE0);
    const uint64_t four = three == 0 ? 0 : Set::at_least(bytes, 0xF0);
    m.continuations = not_ascii & ~two;
    size = whole_characters(two, three, four, m.continuations, size);
    uint64_t left = two & bits_below(size);
    uint64_t letters = three == 0 ? 0 : letters_by_range<Set>(bytes) & left;
    uint64_t caseless = letters, upper = 0, marks = 0, numbers = 0, spaces = 0;
    left &= ~letters;
    while (left != 0) {
        const uint32_t index = lowest_bit(left);
        const uint8_t* c = p + index;
        uint32_t block, tail;
        if (!block_of(c, &block, &tail)) {
            size = index;
            break;
        }
        uint64_t alike = Set::equal(bytes, c[0]);
        if (tail >= 2) alike &= Set::equal(bytes, c[1]) >> 1;
        if (tail >= 3) alike &= Set::equal(bytes, c[2]) >> 2;
        alike &= left;
        left ^= alike;
        const auto flags = Set::rows(bytes, kClassBlocks[kClassIndex[block >> 1]] + (block & 1) * 64);
        if ((Set::has(flags, kRareFlag) >> tail & alike) != 0) {
            numbers |= Set::has(flags, kNumberFlag) >> tail & alike;
            spaces |= Set::has(flags, kSpaceFlag) >> tail & alike;
        }
        letters |= Set::has(flags, kLetterFlag) >> tail & alike;
        if constexpr (cased) {
            upper |= Set::has(flags, kUpperFlag) >> tail & alike;
            caseless |= Set::has(flags, kCaselessFlag) >> tail & alike;
            marks |= Set::has(flags, kMarkFlag) >> tail & alike;
        }
    }
    if constexpr (cased) {
        letters |= marks;
        m.upper |= flood(upper | m.continuations, upper);
        m.caseless = flood(caseless | m.continuations, caseless);
        m.marks = marks;
    } else {
        m.marks = 0;
        m.caseless = 0;
    }
    m.letters |= flood(letters | m.continuations, letters);
    m.numbers |= flood(numbers | m.continuations, numbers);
    m.spaces |= flood(spaces | m.continuations, spaces);
    return size;
}

}  // namespace
}  // namespace crayon
