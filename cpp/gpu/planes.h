// The text as bit planes: for 64 bytes, one word per property with one bit per byte. Threads find pretokens by
// arithmetic on whole words, in lockstep with their neighbours.
//
// Example: the bytes "a1 " are of the classes lower (010), number (101) and space (110). Bit 0 is the first byte:
//    classes[0] ..010
//    classes[1] ..101
//    classes[2] ..110
//    blanks     ..100
#pragma once

#include "parts.h"
#include "scan/scan_masks.h"

namespace crayon {
namespace gpu {

// The number of chunks of the text; the last chunk may be empty.
CRAYON_DEVICE inline uint32_t chunks_of(const Work& w) {
    return w.size / kChunk + 1;
}
// The number of words of a bitmap over the text. Includes one extra chunk, so that the chunk after the last one can be
// read.
CRAYON_DEVICE inline uint32_t bitmap_words(const Work& w) {
    return (chunks_of(w) + 1) * (kChunk / 32);
}
CRAYON_DEVICE inline uint64_t word_of(const uint32_t* bitmap, uint32_t chunk) {
    return bitmap[2 * chunk] | uint64_t(bitmap[2 * chunk + 1]) << 32;
}

// The bits of bytes whose character has this class.
CRAYON_DEVICE inline uint64_t of_class(const Planes& p, CharClass c) {
    const uint32_t number = static_cast<uint32_t>(c);
    uint64_t found = ~uint64_t(0);
    for (uint32_t k = 0; k < 3; ++k) found &= number >> k & 1 ? p.classes[k] : ~p.classes[k];
    return found;
}

// The masks that scan_masks.h needs for a family, from the bits of each class:
//    upper   001   number  101
//    lower   010   space   110
//    letter  011   newline 111
//    mark    100   other   000
template <Family family>
CRAYON_DEVICE inline Masks masks_of(const Planes& p) {
    constexpr Rules rules = rules_of(family);
    constexpr bool cased = rules.words == Words::cased;
    const uint64_t low = p.classes[0], middle = p.classes[1], high = p.classes[2];
    static_assert(set_of(CharClass::upper) == 1u << 1 && set_of(CharClass::lower) == 1u << 2 &&
                      set_of(CharClass::letter) == 1u << 3 && set_of(CharClass::mark) == 1u << 4 &&
                      set_of(CharClass::number) == 1u << 5 && set_of(CharClass::space) == 1u << 6 &&
                      set_of(CharClass::newline) == 1u << 7,
                  "the numbers of classes, bit by bit");
    Masks m;
    m.marks = cased ? high & ~middle & ~low : 0;
    m.letters = ((low | middle) & ~high) | m.marks;
    m.upper = cased ? low & ~middle & ~high : 0;
    m.caseless = cased ? (low & middle & ~high) | m.marks : 0;
    m.numbers = high & ~middle & low;
    m.spaces = high & middle;
    m.breaks = rules.breaks ? m.spaces & low : 0;
    m.blanks = p.blanks;
    m.quotes = p.quotes;
    m.slashes = rules.slashes ? p.slashes : 0;
    m.continuations = p.continuations;
    return m;
}

// The 64 bits that begin at bit `by` of `first` and continue in `second`.
CRAYON_DEVICE inline uint64_t shifted(uint64_t first, uint64_t second, uint32_t by) {
    return by == 0 ? first : first >> by | second << (64 - by);
}

// The planes of the 64 bytes from `at` on.
CRAYON_DEVICE inline Planes planes_at(const Work& w, uint32_t at) {
    const Planes &a = w.planes[at / kChunk], &b = w.planes[at / kChunk + 1];
    const uint32_t by = at % kChunk;
    Planes p;
    for (uint32_t k = 0; k < 3; ++k) p.classes[k] = shifted(a.classes[k], b.classes[k], by);
    p.continuations = shifted(a.continuations, b.continuations, by);
    p.blanks = shifted(a.blanks, b.blanks, by);
    p.quotes = shifted(a.quotes, b.quotes, by);
    p.slashes = shifted(a.slashes, b.slashes, by);
    return p;
}

// Transposes 8 x 8 bits: bit j of byte k becomes bit k of byte j (H. S. Warren, "Hacker's Delight", 7-3).
CRAYON_DEVICE inline uint64_t transposed(uint64_t x) {
    uint64_t t = (x ^ x >> 7) & 0x00AA00AA00AA00AAu;
    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & 0x0000CCCC0000CCCCu;
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & 0x00000000F0F0F0F0u;
    return x ^ t ^ t << 28;
}

// A chunk's planes as far as ASCII bytes determine them. `not_ascii` gets the other bytes.
CRAYON_DEVICE inline Planes ascii_planes(const Work& w, uint32_t chunk, uint64_t* not_ascii) {
    uint64_t planes[7] = {};
    const uint64_t* const words = reinterpret_cast<const uint64_t*>(w.text) + chunk * (kChunk / 8);
    for (uint32_t i = 0; i < kChunk / 8; ++i) {
        const uint64_t word = words[i];
        uint64_t flags = 0;
        for (uint32_t k = 0; k < 64; k += 8) flags |= uint64_t(w.tables.byte_flags[word >> k & 0xFF]) << k;
        flags = transposed(flags);
        for (uint32_t k = 0; k < 7; ++k) planes[k] |= (flags >> 8 * k & 0xFF) << 8 * i;
    }
    *not_ascii = planes[6];
    return {{planes[0], planes[1], planes[2]}, 0, planes[3], planes[4], planes[5], 0};
}

// -- runs that scan_rules.h skips at once

// Returns the place after the last character of `set` in [from, to), or `from` if none is in `set`. Both `from` and
// `to` are starts of characters. The planes mark all bytes of a character.
CRAYON_DEVICE inline uint32_t behind_last(const Work& w, uint32_t from, uint32_t to, uint32_t set) {
    for (uint32_t chunk = (to - 1) / kChunk + 1; chunk-- > from / kChunk;) {
        if (chunk % kTile == kTile - 1 && chunk - from / kChunk >= kTile && (w.tile_sets[chunk / kTile] & set) == 0) {
            chunk -= kTile - 1;
            continue;
        }
        uint64_t found = 0;
        for (uint32_t c = 0; c < 8; ++c)
            if (set >> c & 1) found |= of_class(w.planes[chunk], CharClass(c));
        if (chunk == to / kChunk) found &= bits_below(to % kChunk);
        if (chunk == from / kChunk) found &= ~bits_below(from % kChunk);
        if (found != 0) return chunk * kChunk + highest_bit(found) + 1;
    }
    return from;
}

CRAYON_DEVICE inline void pass_spaces(TextCursor& p, PartEnd, TextCursor& last, TextCursor& breaks) {
    const Work& w = *p.work;
    const uint32_t behind = behind_chunks(w, p.at, kSpaces);
    if (behind == p.at) return;
    const uint32_t found = behind_last(w, p.at, behind, kNewlines);
    if (found != p.at) breaks = {&w, found};
    p.at = behind;
    last = p;
    do {
        --last.at;
    } while (!begins_char(w, last.at));
}

CRAYON_DEVICE inline void pass_capitals(TextCursor& p, PartEnd, TextCursor& fallback) {
    const uint32_t behind = behind_chunks(*p.work, p.at, kUppers);
    if (behind == p.at) return;
    const uint32_t found = behind_last(*p.work, p.at, behind, kCaseless);
    if (found != p.at) fallback.at = found;
    p.at = behind;
}

// Skips line breaks, and slashes with them, after punctuation.
template <bool slashes>
CRAYON_DEVICE inline void pass_breaks(TextCursor& p, PartEnd end) {
    const Work& w = *p.work;
    while (p < end) {
        p.at = behind_chunks(w, p.at, kNewlines);
        if (!(p < end)) return;
        const uint32_t chunk = p.at / kChunk, by = p.at % kChunk;
        const Planes& planes = w.planes[chunk];
        const uint64_t run = of_class(planes, CharClass::newline) | (slashes ? planes.slashes : 0);
        const uint64_t parts = word_of(w.parts, chunk) & ~(p.at == end.from ? bit(by) : 0);
        const uint64_t others = (~run | parts) & ~bits_below(by);
        if (others != 0) {
            p.at = chunk * kChunk + lowest_bit(others);
            return;
        }
        p.at = (chunk + 1) * kChunk;
    }
}

}  // namespace gpu
}  // namespace crayon
