// The rules of the pretokenizer families, and the portable scanner that applies them one pretoken at a time.
//
// Each published pattern is an ordered choice of alternatives; the first that matches wins, with its own greedy length.
// No alternative looks behind its start, so a pretoken depends only on the text from its start on. Here the class of
// the first character selects the alternative. Instead of backtracking, the code remembers the last position to which
// the expression could fall back. The unnamed namespace is explained in class_lookup.h.
//
// Example (cl100k): " isn't" begins with a blank before a letter, so the alternative of words takes " isn". The
// apostrophe before "t" then selects the contraction "'t".
#pragma once

#include "crayon/scan/pattern_families.h"
#include "unicode/class_lookup.h"

namespace crayon {
namespace {

enum class Contractions {
    none,
    lower,   // 's|'t|'re|'ve|'m|'ll|'d
    folded,  // (?i:'s|'t|'re|'ve|'m|'ll|'d), in which U+017F matches s
    tail,    // as `folded`, but optional and at the end of a word
};

enum class Words {
    spaced,    // ` ?\p{L}+`
    prefixed,  // `[^\r\n\p{L}\p{N}]?\p{L}+`
    cased,     // the prefix of `prefixed`, then capital letters, then lowercase ones
};

struct Rules {
    Contractions contractions;
    Words words;
    uint32_t digits;     // longest group of numbers; 0: ` ?\p{N}+`
    bool breaks;         // `\s*[\r\n]+`, and [\r\n]* after punctuation
    bool slashes;        // [\r\n/]* after punctuation instead
    bool ends_together;  // `\s+$` first: all white space at the end of the text is one pretoken
};

CRAYON_DEVICE constexpr Rules rules_of(Family family) {
    switch (family) {
        case Family::cl100k:
            return {Contractions::folded, Words::prefixed, 3, true, false, true};
        case Family::llama3:
            return {Contractions::folded, Words::prefixed, 3, true, false, false};
        case Family::qwen2:
            return {Contractions::folded, Words::prefixed, 1, true, false, false};
        case Family::o200k:
            return {Contractions::tail, Words::cased, 3, true, true, false};
        case Family::tekken:
            return {Contractions::none, Words::cased, 1, true, true, false};
        case Family::gpt2:
        case Family::whole:
            break;
    }
    return {Contractions::lower, Words::spaced, 0, false, false, false};
}

// `p` is after an apostrophe. Returns the end of the contraction, or P() if none begins there.
template <bool folded, typename P, typename E>
CRAYON_DEVICE inline P contraction_end(P p, E end) {
    const size_t left = static_cast<size_t>(end - p);
    if (left == 0) return P();
    const uint8_t fold = folded ? 0x20 : 0;
    const uint8_t first = p[0] | fold;
    switch (first) {
        case 's':
        case 't':
        case 'm':
        case 'd':
            return p + 1;
        case 'r':
        case 'v':
            return left >= 2 && (p[1] | fold) == 'e' ? p + 2 : P();
        case 'l':
            return left >= 2 && (p[1] | fold) == 'l' ? p + 2 : P();
        default:
            break;
    }
    // Of all code points, only U+017F, the long s, also folds to one of these letters (measured).
    if (folded && left >= 2 && p[0] == 0xC5 && p[1] == 0xBF) return p + 2;
    return P();
}

// Functions that skip a run of characters. The GPU's overloads for its own text type skip many at once (gpu/text.h).
//
// pass_spaces skips white space. It reports the start of the last character and the end of the last CR or LF.
// pass_capitals skips characters of the capital part of a word. It reports the end of the last caseless letter.
// pass_breaks skips line breaks, and slashes if `slashes`, after punctuation.
template <bool slashes>
inline void pass_breaks(const uint8_t*& p, const uint8_t* end) {
    while (p < end && (*p == '\n' || *p == '\r' || (slashes && *p == '/'))) ++p;
}
inline void pass_spaces(const uint8_t*&, const uint8_t*, const uint8_t*&, const uint8_t*&) {}
inline void pass_capitals(const uint8_t*&, const uint8_t*, const uint8_t*&) {}

// Returns the end of the cased word at `p`, without its prefix: the longest match of `U*L+`, or else of `U+L*`.
// U and L share the caseless letters and marks. Returns P() if neither matches.
template <Family family, typename P, typename E>
CRAYON_DEVICE inline P cased_word_end(P p, E end) {
    const P start = p;
    P fallback = p;  // after the last character that could still be the L of `U*L+`; p: none
    ClassifiedChar c{0, 0};
    for (; p < end; p += c.size) {
        pass_capitals(p, end, fallback);
        if (!(p < end)) break;
        c = read_char(p, end);
        if (c.set & kCaseless) {
            fallback = p + c.size;
        } else if (!(c.set & kUppers)) {
            break;
        }
    }
    if (p < end && (c.set & kLowers)) {
        p = skip_set(p + c.size, end, kLowers);
    } else if (fallback != start) {
        p = fallback;
    } else if (p == start) {
        return P();
    }
    if constexpr (rules_of(family).contractions == Contractions::tail) {
        if (p < end && *p == '\'') {
            const P behind = contraction_end<true>(p + 1, end);
            if (behind != P()) return behind;
        }
    }
    return p;
}

template <Family family, typename P, typename E>
CRAYON_DEVICE inline P punctuation_end(P p, E end) {
    constexpr Rules rules = rules_of(family);
    p = skip_set(p, end, kOthers);
    if constexpr (rules.breaks) {
        pass_breaks<rules.slashes>(p, end);
    }
    return p;
}

template <Family family, typename P, typename E>
CRAYON_DEVICE inline P white_space_end(P p, E end) {
    constexpr Rules rules = rules_of(family);
    const P start = p;
    P last = p;      // start of the last character of the run
    P breaks = P();  // after the last CR or LF of the run
    while (p < end) {
        pass_spaces(p, end, last, breaks);
        if (!(p < end)) break;
        const ClassifiedChar c = read_char(p, end);
        if (!(c.set & kSpaces)) break;
        last = p;
        p += c.size;
        if (c.set & kNewlines) breaks = p;
    }
    if (rules.ends_together && p == end) return p;
    if (rules.breaks && breaks != P()) return breaks;
    if (p == end || last == start) return p;
    return last;
}

// The end of the pretoken that starts at p < end.
template <Family family, typename P, typename E>
CRAYON_DEVICE inline P pretoken_end(P p, E end) {
    constexpr Rules rules = rules_of(family);
    const ClassifiedChar c = read_char(p, end);
    P next = p + c.size;

    if (c.set & kLetters) {
        if constexpr (rules.words == Words::cased) return cased_word_end<family>(p, end);
        return skip_set(next, end, kLetters);
    }
    if (c.set & kNumbers) {
        if constexpr (rules.digits == 0) {
            return skip_set(next, end, kNumbers);
        } else {
            for (uint32_t i = 1; i < rules.digits && next < end; ++i) {
                const ClassifiedChar digit = read_char(next, end);
                if (!(digit.set & kNumbers)) break;
                next += digit.size;
            }
            return next;
        }
    }
    if (c.set & kOthers) {
        if (*p == '\'' && (rules.contractions == Contractions::lower || rules.contractions == Contractions::folded)) {
            constexpr bool folded = rules.contractions == Contractions::folded;
            const P behind = contraction_end<folded>(next, end);
            if (behind != P()) return behind;
        }
        if constexpr (rules.words == Words::cased) {
            // A mark is both a prefix and a letter; taking it for a letter always gives the same end.
            const P word = cased_word_end<family>(c.set & kCaseless ? p : next, end);
            if (word != P()) return word;
        } else if (rules.words == Words::prefixed && next < end && (read_char(next, end).set & kLetters)) {
            return skip_set(next, end, kLetters);
        }
        return punctuation_end<family>(next, end);
    }

    // White space: before a word, before punctuation, or a run of its own.
    const bool blank = *p == ' ';
    if (next < end && !(c.set & kNewlines) && (blank || rules.words != Words::spaced)) {
        const uint32_t following = read_char(next, end).set;
        if constexpr (rules.words == Words::cased) {
            if (following & (kLetters | kCaseless)) return cased_word_end<family>(next, end);
        } else if (following & kLetters) {
            return skip_set(next, end, kLetters);
        }
        if (blank) {
            if (following & kOthers) return punctuation_end<family>(next, end);
            if (rules.digits == 0 && (following & kNumbers)) return skip_set(next, end, kNumbers);
        }
    }
    return white_space_end<family>(p, end);
}

}  // namespace
}  // namespace crayon
