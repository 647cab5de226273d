// Pretoken starts of up to 64 bytes at once, by bit arithmetic on class masks: for all instruction sets
// (scan_window.h), and for a thread of a GPU (gpu/boundaries.h).
//
// A window begins at a pretoken's start, so nothing before it matters and no state goes from window to window. Every
// byte has the class of the character that it belongs to. From the masks come all starts in the window; those whose
// proof needs no byte behind the window are kept. Unnamed namespace: class_lookup.h.
#pragma once

#include "scan/scan_rules.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace crayon {
namespace {

constexpr size_t kWindow = 64;
// A start at bit i is proven by bits up to i + 3 (behind white space, which has three bytes at most, comes more of it
// or not; the contraction of an apostrophe at i looks as far as i + 2), runs of white space apart.
constexpr uint32_t kLookAhead = 3;
// A pretoken that goes on for this many bytes is followed window by window, not by the rules.
constexpr uint32_t kLong = 32;

// One bit for each byte of the window. `classify` may leave zero what the family does not ask for, and give anything
// for bytes that are not ASCII. To a family with cased words, marks are letters.
struct Masks {
    uint64_t letters;  // in both cases
    uint64_t upper;
    uint64_t numbers;
    uint64_t blanks;  // U+0020
    uint64_t breaks;  // CR and LF
    uint64_t spaces;  // all white space, the two above included
    uint64_t quotes;  // the apostrophe
    uint64_t slashes;
    // Only of characters that are not ASCII, set by `classify_multibyte`.
    uint64_t caseless;       // letters without case, and marks
    uint64_t marks;          // for cased words only
    uint64_t continuations;  // bytes of characters but their first
};

CRAYON_DEVICE inline uint64_t bit(uint32_t index) {
    return uint64_t{1} << index;
}

// Of a word that is not zero.
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

// The bits after each bit of `from` as long as they are in `run`: a carry runs up from the first and clears them. A
// second bit of `from` in the same run stays set in the sum, hence the `|`. `from` lies within `run`.
CRAYON_DEVICE inline uint64_t flood(uint64_t run, uint64_t from) {
    return (run & ~(run + from)) | from;
}

struct Starts {
    uint64_t bits;   // where pretokens start; bit 0 may be anything
    uint32_t limit;  // bits above this one are not to be used
    bool whole;      // the text ends with the window, and the limit is its last byte
};

// Where groups of up to `most` numbers start, one number after the other.
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

// What cased words add in a window that is not all ASCII. A cut is before a capital letter: behind a small one and what
// has no case after it, or, when the capitals are the last of the word, behind the last letter without case.
CRAYON_DEVICE inline Starts cased_starts(const Masks& m, uint64_t letters, uint64_t stranded, uint32_t size,
                                         Starts found) {
    const uint64_t upper = letters & m.upper;
    const uint64_t lower = letters & ~m.upper & ~m.caseless;
    found.bits |= upper & flood(lower | (letters & m.caseless), lower) << 1;
    // A mark that belongs to the punctuation before it: left to the rules.
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

// Starts inside the window of `size` bytes at p. `wide`: some of them may not be ASCII. `last`: the text ends here.
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
    uint64_t stranded = 0;  // marks behind punctuation that is no prefix
    if constexpr (rules.words == Words::spaced) {
        starts |= first_letters & ~(blanks << 1);
    } else {
        // A prefix is white space (the last of a run always starts a pretoken) or punctuation that starts one.
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

    // White space: the first of a run, and the last one when the run ends inside the window, which goes with what
    // follows or stays alone.
    starts |= white & ~(white << 1);
    uint64_t last_white = white & ~(white >> 1) & ~breaks;
    if constexpr (wide) {
        // The last byte, from which it is up to two bytes to the first.
        for (int i = 0; i < 2; ++i) last_white = (last_white & ~m.continuations) | (last_white & m.continuations) >> 1;
    }
    starts |= last_white;
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
            // Right behind another contraction it is a prefix: leave it to the next window, which begins here.
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
            // What has no case begins a word here, whatever stands before: for the next window as well.
            if (wide && (m.caseless & bit(next)) && next < limit) {
                limit = next;
                break;
            }
        }
    }

    // A run of white space that reaches the window's end may go on: only its first byte is sure.
    const uint64_t outside = valid & ~spaces;
    const uint32_t first = outside == 0 ? 0 : highest_bit(outside) + 1;
    if (first < limit) limit = first;
    return {starts, limit, last && limit == size - 1};
}

// Where scanning may go on instead of in a window without starts: the last character at `limit` or before of a word
// that the window's first pretoken is, if a word that begins there ends where this one does. 0 when there is no such
// place.
template <Family family>
CRAYON_DEVICE inline uint32_t middle_of_word(const Masks& m, uint32_t size, uint32_t limit) {
    const uint64_t letters = m.letters & bits_below(size);
    if (letters == 0) return 0;
    const uint64_t firsts = ~m.continuations;
    const uint32_t start = lowest_bit(letters);
    if ((firsts & bits_below(start)) > 1) return 0;  // more than a prefix
    const uint64_t word = flood(letters, bit(start));
    const uint64_t inside = word & bits_below(limit + 1);
    if ((inside & firsts) == 0) return 0;
    const uint32_t place = highest_bit(inside & firsts);
    if constexpr (rules_of(family).words == Words::cased) {
        // A small letter allows small ones alone from there on. Without one so far, a letter without case allows all,
        // and capitals as long as there is none of those to which the word could fall back.
        const uint64_t upper = m.upper & inside;
        const uint64_t caseless = m.caseless & inside;
        const bool small = (inside & ~upper & ~caseless) != 0;
        if (upper & bit(place) ? small || caseless != 0 : (caseless & bit(place)) && small) return 0;
    }
    return place;
}

}  // namespace
}  // namespace crayon
