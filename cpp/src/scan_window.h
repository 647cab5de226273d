// Pretoken starts of up to 64 bytes at once, by bit arithmetic on class masks; shared by all instruction sets.
//
// A window begins at a pretoken's start, so nothing before it matters and no state goes from window to window. It ends
// before the first byte that is not ASCII. From the masks come all starts in it; those whose proof needs no byte behind
// the window are kept, and the next window begins at the last of them. Where none can be kept (a long pretoken, other
// scripts, the end of the text) the rules of scan_rules.h take over for one pretoken. An instruction set brings
// `classify`, which makes the masks, and `store`, which writes the positions of bits. Unnamed namespace: scan_chars.h.
#pragma once

#include <cstring>

#include "scan_rules.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace crayon {
namespace {

constexpr size_t kWindow = 64;
// A start at bit i is proven by bits up to i + 2 (the contraction of an apostrophe at i looks farthest ahead), runs of
// white space apart. One more, so that the end of such a contraction is a bit of the window as well.
constexpr uint32_t kLookAhead = 3;
// Below this, at the end of a text, a window does not pay.
constexpr size_t kShortest = 16;

// One bit for each byte of the window. `classify` may leave zero what the family does not ask for.
struct Masks {
    uint64_t ascii;
    uint64_t upper;
    uint64_t letters;  // in both cases
    uint64_t numbers;
    uint64_t blanks;  // U+0020
    uint64_t breaks;  // CR and LF
    uint64_t spaces;  // all white space, the two above included
    uint64_t quotes;  // the apostrophe
    uint64_t slashes;
};

inline uint64_t bit(uint32_t index) {
    return uint64_t{1} << index;
}

// Of a word that is not zero.
#if defined(_MSC_VER) && !defined(__clang__)
inline uint32_t lowest_bit(uint64_t word) {
    unsigned long index;
    _BitScanForward64(&index, word);
    return index;
}
inline uint32_t highest_bit(uint64_t word) {
    unsigned long index;
    _BitScanReverse64(&index, word);
    return index;
}
#else
inline uint32_t lowest_bit(uint64_t word) {
    return static_cast<uint32_t>(__builtin_ctzll(word));
}
inline uint32_t highest_bit(uint64_t word) {
    return 63u - static_cast<uint32_t>(__builtin_clzll(word));
}
#endif

// The bits after each bit of `from` as long as they are in `run`: a carry runs up from the first and clears them. A
// second bit of `from` in the same run stays set in the sum, hence the `|`. `from` lies within `run`.
inline uint64_t flood(uint64_t run, uint64_t from) {
    return (run & ~(run + from)) | from;
}

struct Starts {
    uint64_t bits;   // where pretokens start; bit 0 may be anything
    uint32_t limit;  // bits above this one are not to be used
};

// Starts inside the window of `size` bytes at p, all of them ASCII.
template <Family family>
inline Starts window_starts(const uint8_t* p, const Masks& m, uint32_t size) {
    constexpr Rules rules = rules_of(family);
    constexpr bool folded = rules.contractions != Contractions::lower;
    const uint64_t valid = size == kWindow ? ~uint64_t{0} : bit(size) - 1;
    const uint64_t letters = m.letters & valid;
    const uint64_t numbers = m.numbers & valid;
    const uint64_t spaces = m.spaces & valid;
    const uint64_t blanks = m.blanks & valid;
    const uint64_t breaks = m.breaks & valid;
    const uint64_t others = valid & ~(letters | numbers | spaces);

    // What [\r\n]* (or [\r\n/]*) takes after punctuation, and what is left of punctuation and of white space.
    uint64_t taken = 0;
    if constexpr (rules.breaks) {
        const uint64_t tail = rules.slashes ? breaks | (m.slashes & valid) : breaks;
        taken = flood(tail, others << 1 & breaks);
    }
    const uint64_t punctuation = others & ~taken;
    const uint64_t white = spaces & ~taken;

    // Punctuation: the first of a run, unless a blank before it took it along.
    const uint64_t punctuation_starts = punctuation & ~(punctuation << 1) & ~(blanks << 1);
    uint64_t starts = punctuation_starts;

    // Words.
    const uint64_t first_letters = letters & ~(letters << 1);
    if constexpr (rules.words == Words::spaced) {
        starts |= first_letters & ~(blanks << 1);
    } else {
        // A prefix is white space (the last of a run always starts a pretoken) or punctuation that starts one.
        starts |= first_letters & ~((white & ~breaks) << 1) & ~(punctuation_starts << 1);
    }
    if constexpr (rules.words == Words::cased) starts |= (letters & m.upper) & (letters & ~m.upper) << 1;

    // Numbers.
    const uint64_t first_numbers = numbers & ~(numbers << 1);
    if constexpr (rules.digits == 0) {
        starts |= first_numbers & ~(blanks << 1);
    } else if constexpr (rules.digits == 1) {
        starts |= numbers;
    } else {
        starts |= first_numbers;
        const uint64_t fourth = numbers & numbers << 1 & numbers << 2 & numbers << 3;
        for (uint64_t group = first_numbers << 3 & fourth; group != 0; group = group << 3 & fourth) starts |= group;
    }

    // White space: the first of a run, and the last one when the run ends inside the window, which goes with what
    // follows or stays alone.
    starts |= white & ~(white << 1);
    starts |= white & ~(white >> 1) & ~breaks;
    if constexpr (rules.breaks) {
        // The run is cut behind its last CR or LF: where blanks follow one and no other follows them.
        const uint64_t gaps = white & ~breaks;
        uint64_t behind = gaps & (white & breaks) << 1;
        if (flood(gaps, behind) << 1 & breaks) {
            // Some gap may be followed by another CR or LF: rare, one at a time.
            for (uint64_t left = behind; left != 0; left &= left - 1) {
                const uint32_t index = lowest_bit(left);
                const uint64_t past = (gaps >> index) + 1;
                const uint64_t stop = (past & (0 - past)) << index;
                if (stop & white & breaks) behind &= ~bit(index);
            }
        }
        starts |= behind;
    }

    uint32_t limit = size > kLookAhead ? size - 1 - kLookAhead : 0;

    // Contractions.
    uint64_t quotes = rules.contractions == Contractions::none ? 0 : m.quotes & valid;
    if constexpr (rules.contractions == Contractions::tail) {
        quotes &= letters << 1 & letters >> 1;
    } else {
        quotes &= punctuation_starts & letters >> 1;
    }
    uint64_t suffixes = 0;
    for (; quotes != 0; quotes &= quotes - 1) {
        const uint32_t index = lowest_bit(quotes);
        if (index > limit) break;
        const uint8_t* behind = contraction_end<folded>(p + index + 1, p + size);
        if (behind == nullptr) continue;
        const uint32_t next = static_cast<uint32_t>(behind - p);
        if constexpr (rules.contractions == Contractions::tail) {
            // Right behind another contraction it is a prefix: leave it to the next window, which begins here.
            if (suffixes & bit(index)) {
                limit = index;
                break;
            }
            suffixes |= bit(next);
            starts &= ~bit(index);
        }
        starts &= ~(bit(index + 1) | (bit(next) - bit(index + 2)));
        starts |= bit(next);
    }

    // A run of white space that reaches the window's end may go on: only its first byte is sure.
    if (spaces & bit(size - 1)) {
        const uint64_t outside = valid & ~spaces;
        const uint32_t first = outside == 0 ? 0 : highest_bit(outside) + 1;
        if (first < limit) limit = first;
    }
    return {starts, limit};
}

// The starts that one window at `pos` proves, relative to `pos`, without bit 0.
template <typename Set, Family family>
inline uint64_t proven_starts(const uint8_t* text, size_t size, size_t pos) {
    const uint8_t* p = text + pos;
    const size_t left = size - pos;
    uint8_t padded[kWindow];
    if (left < kWindow) {
        std::memset(padded, 0, kWindow);
        std::memcpy(padded, p, left);
        p = padded;
    }
    const Masks masks = Set::template classify<family>(p);
    uint32_t length = ~masks.ascii == 0 ? static_cast<uint32_t>(kWindow) : lowest_bit(~masks.ascii);
    if (left < length) length = static_cast<uint32_t>(left);
    const Starts found = window_starts<family>(p, masks, length);
    return found.bits & ((uint64_t{2} << found.limit) - 1) & ~uint64_t{1};
}

// Whether the first four bytes are ASCII: a window has to be longer than kLookAhead to prove anything.
inline bool begins_in_ascii(const uint8_t* p) {
    uint32_t word;
    std::memcpy(&word, p, 4);
    return (word & 0x80808080u) == 0;
}

// A ScanFunction.
template <typename Set, Family family>
inline size_t scan_windows(const uint8_t* text, size_t size, size_t pos, size_t* ends, size_t capacity) {
    size_t count = 0;
    while (count < capacity && pos < size) {
        uint64_t starts = 0;
        if (size - pos >= kShortest && begins_in_ascii(text + pos)) {
            starts = proven_starts<Set, family>(text, size, pos);
        }
        if (starts == 0) {
            pos = static_cast<size_t>(pretoken_end<family>(text + pos, text + size) - text);
            ends[count++] = pos;
            continue;
        }
        if (capacity - count >= kWindow) {
            const uint32_t last = highest_bit(starts);
            count += Set::store(starts, pos, ends + count);
            pos += last;
            continue;
        }
        do {
            ends[count++] = pos + lowest_bit(starts);
            starts &= starts - 1;
        } while (starts != 0 && count < capacity);
        pos = ends[count - 1];
    }
    return count;
}

}  // namespace
}  // namespace crayon
