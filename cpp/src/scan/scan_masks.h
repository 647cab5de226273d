// Finds the starts of pretokens in up to 64 bytes at once, by bit arithmetic on class masks. Used by all instruction
// sets (scan_window.h), and by the threads of a GPU (gpu/boundaries.h).
//
// A window begins at a pretoken's start, so it needs no state from earlier text. Every byte has the class of its
// character. The masks give all starts in the window; those proven without a byte after the window are kept. The
// unnamed namespace is explained in class_lookup.h.
//
// Example (gpt2), with bit 0 at the left:
//    text     to be 42
//    letters  11_11___
//    blanks   __1__1__
//    numbers  ______11
//    starts   1_1__1__  "to", " be", " 42"
#pragma once

#include "scan/scan_rules.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace crayon {
namespace {

constexpr size_t kWindow = 64;
// Bits up to i + 3 prove a start at bit i, except for runs of white space. A white-space character has at most three
// bytes, and more may follow it. The contraction of an apostrophe at i extends to i + 2.
constexpr uint32_t kLookAhead = 3;
// A pretoken of at least this many bytes is scanned window by window, not by the rules.
constexpr uint32_t kLong = 32;

// One bit per byte of the window. `classify` may leave masks zero that the family does not use, and gives undefined
// bits for non-ASCII bytes. For a family with cased words, marks count as letters.
struct Masks {
    uint64_t letters;  // in both cases
    uint64_t upper;
    uint64_t numbers;
    uint64_t blanks;  // U+0020
    uint64_t breaks;  // CR and LF
    uint64_t spaces;  // all white space, including the two above
    uint64_t quotes;  // the apostrophe
    uint64_t slashes;
    // Only for non-ASCII characters, set by `classify_multibyte`.
    uint64_t caseless;       // letters without case, and marks
    uint64_t marks;          // for cased words only
    uint64_t continuations;  // all bytes of characters but their first
};

CRAYON_DEVICE inline uint64_t bit(uint32_t index) {
    return uint64_t{1} << index;
}

// `word` must not be zero.
CRAYON_DEVICE inline uint32_t lowest_bit(uint64_t word) {
#if defined(__CUDA_ARCH__)
    return static_cast<uint32_t>(__ffsll(static_cast<long long>(word))) - 1;
#elif defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanForward64(&index, word);
    return index;
#else
    return static_cast<uint32_t>(__builtin_ctzll(word));
#endif
}
CRAYON_DEVICE inline uint32_t highest_bit(uint64_t word) {
#if defined(__CUDA_ARCH__)
    return 63u - static_cast<uint32_t>(__clzll(static_cast<long long>(word)));
#elif defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanReverse64(&index, word);
    return index;
#else
    return 63u - static_cast<uint32_t>(__builtin_clzll(word));
#endif
}

// The bits below `count`, which is at most 64.
CRAYON_DEVICE inline uint64_t bits_below(uint32_t count) {
    return count >= 64 ? ~uint64_t{0} : bit(count) - 1;
}

// The bits of `run` that follow a bit of `from` upwards without a gap, and the bits of `from`. `from` must be a subset
// of `run`. A carry runs up from the first bit and clears the run; a second bit of `from` in the same run stays set in
// the sum, hence the `|`. Example, with bit 0 at the right:
//    run   0111_0110
//    from  0010_0010
//    flood 0110_0110
CRAYON_DEVICE inline uint64_t flood(uint64_t run, uint64_t from) {
    return (run & ~(run + from)) | from;
}

struct Starts {
    uint64_t bits;   // starts of pretokens; bit 0 is undefined
    uint32_t limit;  // bits above this one are not proven
    bool whole;      // the text ends with the window, and the limit is its last byte
};

// The starts of groups of up to `most` numbers, found one number at a time.
template <uint32_t most>
CRAYON_DEVICE inline uint64_t number_groups(uint64_t numbers, uint64_t continuations) {
    const uint64_t first = numbers & ~(numbers << 1);
    uint64_t starts = 0;
    uint32_t count = 0;  // in the group
    for (uint64_t left = numbers & ~continuations; left != 0; left &= left - 1) {
        const uint64_t number = left & (0 - left);
        if ((number & first) != 0 || count == most) {
            starts |= number;
            count = 0;
        }
        ++count;
    }
    return starts;
}

// Adds starts inside cased words, for a window that is not all ASCII. A cut is before a capital, after a lowercase
// letter and the caseless ones after it. If the capitals are the word's last, the cut is after the last caseless
// letter.
CRAYON_DEVICE inline Starts cased_starts(const Masks& m, uint64_t letters, uint64_t stranded, uint32_t size,
                                         Starts found) {
    const uint64_t upper = letters & m.upper;
    const uint64_t lower = letters & ~m.upper & ~m.caseless;
    found.bits |= upper & flood(lower | (letters & m.caseless), lower) << 1;
    // A mark that belongs to the punctuation before it is left to the rules.
    if (stranded != 0 && lowest_bit(stranded) <= found.limit) found.limit = lowest_bit(stranded) - 1;
    for (uint64_t left = upper & ~(upper << 1) & m.caseless << 1; left != 0; left &= left - 1) {
        const uint32_t index = lowest_bit(left);
        if (index > found.limit) break;
        const uint32_t behind = index + lowest_bit(~(upper >> index));
        if (behind >= size && !found.whole) {
            found.limit = index - 1;
            break;
        }
        if (behind >= size || !(letters & bit(behind))) found.bits |= bit(index);
    }
    return found;
}

// The starts inside the window of `size` bytes at p. `wide`: some bytes may not be ASCII. `last`: the text ends here.
template <Family family, bool wide>
CRAYON_DEVICE inline Starts window_starts(const uint8_t* p, const Masks& m, uint32_t size, bool last) {
    constexpr Rules rules = rules_of(family);
    constexpr bool folded = rules.contractions != Contractions::lower;
    const uint64_t valid = bits_below(size);
    const uint64_t letters = m.letters & valid;
    const uint64_t numbers = m.numbers & valid;
    const uint64_t spaces = m.spaces & valid;
    const uint64_t blanks = m.blanks & valid;
    const uint64_t breaks = m.breaks & valid;
    const uint64_t others = valid & ~(letters | numbers | spaces);

    // Line breaks that [\r\n]* (or [\r\n/]*) takes after punctuation, and the remaining punctuation and white space.
    uint64_t taken = 0;
    if constexpr (rules.breaks) {
        const uint64_t tail = rules.slashes ? breaks | (m.slashes & valid) : breaks;
        taken = flood(tail, others << 1 & breaks);
    }
    const uint64_t punctuation = others & ~taken;
    const uint64_t white = spaces & ~taken;

    // Punctuation: the first of a run, unless it belongs to a blank before it.
    const uint64_t punctuation_starts = punctuation & ~(punctuation << 1) & ~(blanks << 1);
    uint64_t starts = punctuation_starts;

    // Words.
    const uint64_t first_letters = letters & ~(letters << 1);
    uint64_t stranded = 0;  // marks after punctuation that cannot be a prefix
    if constexpr (rules.words == Words::spaced) {
        starts |= first_letters & ~(blanks << 1);
    } else {
        // A prefix is white space (the last of a run always starts a pretoken), or punctuation that starts a pretoken.
        uint64_t prefixes = punctuation_starts;
        if constexpr (wide) prefixes = flood(m.continuations | prefixes, prefixes);
        starts |= first_letters & ~((white & ~breaks) << 1) & ~(prefixes << 1);
        if constexpr (wide) stranded = first_letters & m.marks & (punctuation & ~prefixes) << 1;
    }
    if constexpr (rules.words == Words::cased && !wide) starts |= (letters & m.upper) & (letters & ~m.upper) << 1;

    // Numbers.
    const uint64_t first_numbers = numbers & ~(numbers << 1);
    if constexpr (rules.digits == 0) {
        starts |= first_numbers & ~(blanks << 1);
    } else if constexpr (rules.digits == 1) {
        starts |= wide ? numbers & ~m.continuations : numbers;
    } else if (wide && (numbers & m.continuations) != 0) {
        starts |= number_groups<rules.digits>(numbers, m.continuations);
    } else {
        starts |= first_numbers;
        const uint64_t fourth = numbers & numbers << 1 & numbers << 2 & numbers << 3;
        for (uint64_t group = first_numbers << 3 & fourth; group != 0; group = group << 3 & fourth) starts |= group;
    }

    // White space: the first of a run. If the run ends inside the window, also its last character, which joins the next
    // pretoken or stays alone.
    starts |= white & ~(white << 1);
    uint64_t last_white = white & ~(white >> 1) & ~breaks;
    if constexpr (wide) {
        // The first byte of that character is up to two bytes before its last byte.
        for (int i = 0; i < 2; ++i) last_white = (last_white & ~m.continuations) | (last_white & m.continuations) >> 1;
    }
    starts |= last_white;
    if constexpr (rules.breaks) {
        // Cuts the run after its last CR or LF: where blanks follow one and no other CR or LF follows them.
        const uint64_t gaps = white & ~breaks;
        uint64_t behind = gaps & (white & breaks) << 1;
        if (flood(gaps, behind) << 1 & breaks) {
            // Another CR or LF may follow some of these gaps. This is rare, so they are examined one at a time.
            for (uint64_t left = behind; left != 0; left &= left - 1) {
                const uint32_t index = lowest_bit(left);
                const uint64_t past = (gaps >> index) + 1;
                const uint64_t stop = (past & (0 - past)) << index;
                if (stop & white & breaks) behind &= ~bit(index);
            }
        }
        starts |= behind;
    }

    uint32_t limit = last ? size - 1 : size > kLookAhead ? size - 1 - kLookAhead : 0;
    if constexpr (rules.words == Words::cased && wide) {
        const Starts found = cased_starts(m, letters, stranded, size, {starts, limit, last});
        starts = found.bits;
        limit = found.limit;
    }

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
            // Directly after another contraction the apostrophe is a prefix: the next window begins here.
            if (suffixes & bit(index)) {
                limit = index;
                break;
            }
            starts &= ~bit(index);
        }
        starts &= ~(bits_below(next) & ~bits_below(index + 1));
        if (next >= kWindow) break;  // the end of the text
        starts |= bit(next);
        if constexpr (rules.contractions == Contractions::tail) {
            suffixes |= bit(next);
            // A caseless letter begins a word here, whatever precedes it; the next window must see that.
            if (wide && (m.caseless & bit(next)) && next < limit) {
                limit = next;
                break;
            }
        }
    }

    // A run of white space at the window's end may continue, so only its first byte is proven.
    const uint64_t outside = valid & ~spaces;
    const uint32_t first = outside == 0 ? 0 : highest_bit(outside) + 1;
    if (first < limit) limit = first;
    return {starts, limit, last && limit == size - 1};
}

// For a window without starts: the last place at or before `limit` where scanning can continue inside the first
// pretoken, or 0 if none exists. A word that begins there ends where this pretoken does.
template <Family family>
CRAYON_DEVICE inline uint32_t middle_of_word(const Masks& m, uint32_t size, uint32_t limit) {
    const uint64_t letters = m.letters & bits_below(size);
    if (letters == 0) return 0;
    const uint64_t firsts = ~m.continuations;
    const uint32_t start = lowest_bit(letters);
    if ((firsts & bits_below(start)) > 1) return 0;  // more precedes the word than its prefix
    const uint64_t word = flood(letters, bit(start));
    const uint64_t inside = word & bits_below(limit + 1);
    if ((inside & firsts) == 0) return 0;
    const uint32_t place = highest_bit(inside & firsts);
    if constexpr (rules_of(family).words == Words::cased) {
        // After a lowercase letter only lowercase ones may follow. Before the first lowercase letter, a caseless letter
        // may be such a place. A capital may be one while the word has no caseless letter to fall back to.
        const uint64_t upper = m.upper & inside;
        const uint64_t caseless = m.caseless & inside;
        const bool small = (inside & ~upper & ~caseless) != 0;
        if (upper & bit(place) ? small || caseless != 0 : (caseless & bit(place)) && small) return 0;
    }
    return place;
}

}  // namespace
}  // namespace crayon
