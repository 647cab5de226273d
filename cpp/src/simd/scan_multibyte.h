// The classes of a window's non-ASCII characters. The unnamed namespace is explained in class_lookup.h.
//
// Masks have a character's bit only at its first byte, until a last step copies it to the others. Texts use few
// alphabets, so characters are processed by blocks of 64 code points, which differ only in their last byte. One lookup
// of all last bytes in the block's row of the class table serves every character of the block. For example, "é" (C3 A9,
// U+00E9) is entry 0x29 in the row of block 3. Ideographs and Hangul, with many blocks per window, are letters by
// range.
#pragma once

#include "simd/window.h"

namespace crayon {
namespace {

constexpr uint8_t kLetterFlag = 1;
constexpr uint8_t kUpperFlag = 2;
constexpr uint8_t kCaselessFlag = 4;
constexpr uint8_t kMarkFlag = 8;
constexpr uint8_t kNumberFlag = 16;
constexpr uint8_t kSpaceFlag = 32;
constexpr uint8_t kRareFlag = 64;  // a number or white space

// A flag for each CharClass. The eight flags are listed twice, because table lookups need 16 bytes.
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
template <typename V>
inline uint64_t letters_by_range(const Window<V>& bytes) {
    const uint64_t from_e4 = bytes.at_least(0xE4);
    if (from_e4 == 0) return 0;
    const uint64_t from_ea = bytes.at_least(0xEA);
    uint64_t found = from_e4 & ~from_ea & ~(bytes.equal(0xE4) & bytes.equal(0xB7) >> 1);
    const uint64_t hangul = from_ea & ~bytes.at_least(0xEE);
    if (hangul != 0) {
        const uint64_t low = bytes.equal(0xEA) & ~(bytes.at_least(0xB0) >> 1);
        const uint64_t high = bytes.equal(0xED) & bytes.at_least(0x9E) >> 1;
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

// The flags of characters of a block, by their last bytes.
template <typename V>
inline Window<V> flags_of(const Window<V>& bytes, const uint8_t* row) {
    const typename V::Rows classes(row);
    Window<V> flags;
    for (size_t i = 0; i < Window<V>::kParts; ++i)
        flags.parts[i] = (classes.at(bytes.parts[i]) & V::all(kClassMask)).look_up(kClassFlags.of);
    return flags;
}

// Completes the masks of the `size` bytes at p. Returns how many of these are usable.
template <Family family, typename V>
inline uint32_t classify_blocks(const uint8_t* p, const Window<V>& bytes, uint64_t not_ascii, uint32_t size, Masks& m) {
    constexpr bool cased = rules_of(family).words == Words::cased;
    const uint64_t two = bytes.at_least(0xC0);
    const uint64_t three = bytes.at_least(0xE0);
    const uint64_t four = three == 0 ? 0 : bytes.at_least(0xF0);
    m.continuations = not_ascii & ~two;
    size = whole_characters(two, three, four, m.continuations, size);
    uint64_t left = two & bits_below(size);
    uint64_t letters = three == 0 ? 0 : letters_by_range(bytes) & left;
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
        uint64_t alike = bytes.equal(c[0]);
        if (tail >= 2) alike &= bytes.equal(c[1]) >> 1;
        if (tail >= 3) alike &= bytes.equal(c[2]) >> 2;
        alike &= left;
        left ^= alike;
        const auto flags = flags_of(bytes, kClassBlocks[kClassIndex[block >> 1]] + (block & 1) * 64);
        if ((flags.has(kRareFlag) >> tail & alike) != 0) {
            numbers |= flags.has(kNumberFlag) >> tail & alike;
            spaces |= flags.has(kSpaceFlag) >> tail & alike;
        }
        letters |= flags.has(kLetterFlag) >> tail & alike;
        if constexpr (cased) {
            upper |= flags.has(kUpperFlag) >> tail & alike;
            caseless |= flags.has(kCaselessFlag) >> tail & alike;
            marks |= flags.has(kMarkFlag) >> tail & alike;
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

// Does what classify_blocks does, but without look-ups, one character at a time.
template <Family family>
inline uint32_t classify_chars(const uint8_t* p, uint64_t not_ascii, uint32_t size, Masks& m) {
    constexpr bool cased = rules_of(family).words == Words::cased;
    const uint8_t* const end = p + size;
    m.caseless = m.marks = m.continuations = 0;
    for (uint64_t left = not_ascii; left != 0;) {
        const uint32_t index = lowest_bit(left);
        const ClassifiedChar c = read_multibyte(p + index, end);
        if (c.size == 1) return index;
        const uint64_t bytes = bits_below(index + c.size) & ~bits_below(index);
        left &= ~bytes;
        m.continuations |= bytes & ~bit(index);
        if (c.set & (cased ? kLetters | kCaseless : kLetters)) m.letters |= bytes;
        if (c.set & kNumbers) m.numbers |= bytes;
        if (c.set & kSpaces) m.spaces |= bytes;
        if constexpr (cased) {
            if (c.set & set_of(CharClass::upper)) m.upper |= bytes;
            if (c.set & kCaseless) m.caseless |= bytes;
            if (c.set & set_of(CharClass::mark)) m.marks |= bit(index);
        }
    }
    return size;
}

}  // namespace
}  // namespace crayon
