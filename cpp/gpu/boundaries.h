// Where pretokens begin.
//
// Each thread has a chunk of the text. It looks for the first place in it where a pretoken begins whatever stands
// before the character in front of that place, and goes on from there by the rules of scan_rules.h, as the CPU's
// portable scanner does, into the following chunks until it comes to such a place there, whose thread begins with it.
#pragma once

#include "chunks.h"

namespace crayon {
namespace gpu {

// Whether a pretoken begins with the character `c` at `at`, known from it, the one before it, and the byte behind it
// alone. `new_group`: a multiple of three numbers stand in a row before it. Proofs, by what may stand inside a
// pretoken:
template <Family family>
CRAYON_DEVICE inline bool surely_begins(const Work& w, uint32_t at, Char before, Char c, bool new_group) {
    constexpr Rules rules = rules_of(family);
    constexpr bool cased = rules.words == Words::cased, spaced = rules.words == Words::spaced;
    const uint8_t byte = w.text[at], last = w.text[at - 1];

    if (c.set & kNumbers) {
        // Numbers stand behind nothing but numbers, and a blank where they take one.
        if (before.set & kNumbers) return rules.digits == 1 || (rules.digits > 1 && new_group);
        return !(rules.digits == 0 && last == ' ');
    }
    if (c.set & kSpaces) {
        if (before.set & kSpaces) {
            // The last of a run goes with what follows, or stands alone: white space ends before it.
            if (rules.breaks && (c.set & kNewlines)) return false;
            const Place next{&w, at + c.size};
            return next < SegmentEnd{at} && !(read_char(next, SegmentEnd{at}).set & kSpaces);
        }
        // Inside a pretoken white space stands behind white space alone, but line breaks behind punctuation.
        return !(rules.breaks && (c.set & kNewlines) && (before.set & kOthers));
    }
    if (before.set & kSpaces) {
        // White space takes what is behind it where that is a blank, or any other that is a word's prefix.
        if (before.set & kNewlines) {
            if (!rules.breaks) return true;
            return !(rules.slashes && byte == '/');
        }
        if (last == ' ') return false;
        return spaced || (c.set & kOthers & ~set_of(CharClass::mark)) != 0;
    }
    if (c.set & kLetters) {
        if (before.set & kNumbers) return true;
        if (cased && (c.set & set_of(CharClass::upper))) {
            // Small letters end a word, but the first one of 'lL, 'vE and 'rE.
            return (before.set & set_of(CharClass::lower)) != 0 && (at < 2 || w.text[at - 2] != '\'');
        }
        // Behind punctuation: a prefix may be, or an apostrophe.
        return spaced && (before.set & kOthers) != 0 && last != '\'';
    }
    // Punctuation and marks, behind a letter, a number, or their like.
    if (before.set & kNumbers) return true;
    if (!(before.set & kLetters)) return false;
    if (cased && ((c.set & kCaseless) || byte == '\'')) return false;
    return true;
}

// One thread to a chunk.
template <Family family>
struct FindBoundaries {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (chunks_of(w) + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t chunk = block.index() * kThreads + lane, start = chunk * kChunk;
            if (start >= w.size) return;
            const uint32_t stop = w.size - start < kChunk ? w.size : start + kChunk;
            const uint32_t first = first_sure(w, chunk, start, stop);
            if (first < stop) walk(w, first, stop);
        });
    }

  private:
    static constexpr bool kGroups = rules_of(family).digits > 1;

    CRAYON_DEVICE static uint32_t first_sure(const Work& w, uint32_t chunk, uint32_t start, uint32_t stop) {
        uint32_t at = start;
        while (at < stop && !begins_char(w, at)) ++at;
        if (at >= stop || has_bit(w.segments, at)) return at;
        Char before = char_before(w, at);
        uint32_t digits = kGroups ? w.digit_states[chunk] & 3u : 0;
        // What has begun before the chunk is counted with the chunk before it.
        for (; at < stop; at += before.size) {
            if (has_bit(w.segments, at)) return at;
            const Char c = read_char(Place{&w, at}, SegmentEnd{at});
            if (surely_begins<family>(w, at, before, c, digits == 0)) return at;
            if (kGroups) digits = c.set & kNumbers ? (digits + 1) % 3 : 0;
            before = c;
        }
        return stop;
    }

    CRAYON_DEVICE static void walk(const Work& w, uint32_t first, uint32_t stop) {
        uint32_t word = first / 32, bits = 0;
        for (uint32_t at = first;;) {
            if (at / 32 != word) {
                atomic_or(w.boundaries + word, bits);
                word = at / 32;
                bits = 0;
            }
            bits |= uint32_t(1) << (at % 32);
            at = pretoken_end<family>(Place{&w, at}, SegmentEnd{at}).at;
            if (at < stop) continue;
            if (has_bit(w.segments, at)) break;
            // Where a pretoken begins between numbers, a group does.
            const Char c = read_char(Place{&w, at}, SegmentEnd{at});
            if (surely_begins<family>(w, at, char_before(w, at), c, true)) break;
        }
        atomic_or(w.boundaries + word, bits);
    }
};

// Every segment is one pretoken. One thread to a word of the bitmap.
template <>
struct FindBoundaries<Family::whole> {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.size / 32 + 1 + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t word = block.index() * kThreads + lane;
            if (word > w.size / 32) return;
            const uint32_t end = word == w.size / 32 ? uint32_t(1) << (w.size % 32) : 0;
            w.boundaries[word] = w.segments[word] & ~end;
        });
    }
};

}  // namespace gpu
}  // namespace crayon
