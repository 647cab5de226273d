// Finds where pretokens begin.
//
// Each thread has one chunk of the text. It looks for the chunk's first sure place: one where a pretoken begins
// whatever the text before the preceding character is. From there it scans windows of 64 bytes (scan_masks.h), as the
// CPU does, into the following chunks. It stops at the next chunk's first sure place, where that chunk's thread has
// started. If no sure place comes for long, one thread would delay the whole device, so the CPU encodes the document.
//
// Example (gpt2): in "to be", the blank at 2 is a sure place, because inside a pretoken white space only follows white
// space. The place of the "b", 3, is not sure, because the blank before it may belong to its pretoken.
#pragma once

#include "chunks.h"

namespace crayon {
namespace gpu {

// Returns the first start of a group of digits, if the chunk continues a run of numbers; else 0.
CRAYON_DEVICE inline uint64_t group_place(const Work& w, uint32_t chunk, const Masks& m, uint64_t last_numbers,
                                          uint64_t parts) {
    const uint64_t numbers = m.numbers & ~parts;
    if ((numbers & last_numbers & 1) == 0) return 0;
    uint64_t left = flood(numbers, 1) & ~m.continuations;
    for (uint32_t before = w.digit_states[chunk] & 3u; left != 0 && before % 3 != 0; ++before) left &= left - 1;
    return left & (0 - left);
}

// Returns those of `quotes` (apostrophes after letters) that begin no contraction, and so end a word.
template <Family family>
CRAYON_DEVICE inline uint64_t ends_of_words(const Work& w, uint32_t chunk, uint64_t quotes) {
    if constexpr (rules_of(family).contractions == Contractions::tail) {
        for (uint64_t left = quotes; left != 0; left &= left - 1) {
            const uint32_t at = chunk * kChunk + lowest_bit(left);
            if (contraction_end<true>(TextCursor{&w, at + 1}, PartEnd{at}) != TextCursor())
                quotes &= ~(left & (0 - left));
        }
    }
    return quotes;
}

// Returns the sure places of a chunk. Whether a place is sure depends on the characters at, before and after it, and on
// how many numbers precede the chunk. docs/gpu.md derives the rules.
template <Family family>
CRAYON_DEVICE inline uint64_t sure_places(const Work& w, uint32_t chunk) {
    constexpr Rules rules = rules_of(family);
    constexpr bool cased = rules.words == Words::cased, spaced = rules.words == Words::spaced;
    const Planes p = w.planes[chunk];
    Planes q{};
    if (chunk > 0) q = w.planes[chunk - 1];  // as a copy: for `chunk > 0 ? ... : ...` hipcc would keep both in memory
    const Planes& r = w.planes[chunk + 1];
    const auto before = [](uint64_t there, uint64_t in_front) { return there << 1 | in_front >> 63; };
    const auto behind = [](uint64_t there, uint64_t next) { return there >> 1 | next << 63; };
    const Masks m = masks_of<family>(p), l = masks_of<family>(q);
    const uint64_t newlines = of_class(p, CharClass::newline);
    const uint64_t last_letters = before(m.letters & ~m.marks, l.letters & ~l.marks);
    const uint64_t last_numbers = before(m.numbers, l.numbers), last_spaces = before(m.spaces, l.spaces);
    const uint64_t last_breaks = before(newlines, of_class(q, CharClass::newline));
    const uint64_t last_blanks = before(p.blanks, q.blanks), last_quotes = before(p.quotes, q.quotes);
    const uint64_t last_others = ~(last_letters | last_numbers | last_spaces);  // marks count as others
    const uint64_t marks = of_class(p, CharClass::mark), letters = m.letters & ~m.marks;
    const uint64_t others = ~(letters | m.numbers | m.spaces);
    const uint64_t parts = word_of(w.parts, chunk);

    // Inside a pretoken a number only follows a number, or a blank if the pattern allows one.
    uint64_t sure = m.numbers & ~last_numbers & (rules.digits == 0 ? ~last_blanks : ~uint64_t(0));
    if (rules.digits == 1) sure |= m.numbers;
    if (rules.digits > 1) sure |= group_place(w, chunk, m, last_numbers, parts);

    // Inside a pretoken white space only follows white space; line breaks also follow punctuation.
    const uint64_t breaks = rules.breaks ? newlines : 0;
    sure |= m.spaces & ~last_spaces & ~(breaks & last_others);
    // The last character of a run of white space joins the next word or is a pretoken of its own. This finds such a
    // character only if it has one byte, because the end of a longer one may be in the next chunk.
    const uint64_t next_parts = behind(parts, word_of(w.parts, chunk + 1));
    const uint64_t next_spaces = behind(m.spaces, masks_of<family>(r).spaces);
    const uint64_t single = ~behind(p.continuations, r.continuations);
    sure |= m.spaces & last_spaces & single & ~next_spaces & ~next_parts & ~breaks;

    // White space joins the following word if it is a blank, or any other prefix that the pattern allows.
    const uint64_t words = letters | others;
    sure |= words & last_breaks & (!rules.breaks ? ~uint64_t(0) : rules.slashes ? ~p.slashes : ~uint64_t(0));
    sure |= words & last_spaces & ~last_breaks & ~last_blanks & (spaced ? ~uint64_t(0) : others & ~marks);

    sure |= words & last_numbers;
    if (cased) {
        // A lowercase letter ends a word before a capital, except the first letter of 'lL, 'vE and 'rE.
        const uint64_t lower = of_class(p, CharClass::lower), quotes = p.quotes << 2 | q.quotes >> 62;
        sure |= m.upper & before(lower, of_class(q, CharClass::lower)) & ~quotes;
    }
    // Letters after punctuation are sure, unless the punctuation may be a prefix of the word or is an apostrophe.
    if (spaced) sure |= letters & last_others & ~last_quotes;
    // Punctuation and marks after letters are sure, unless a mark or a contraction continues the word.
    sure |= others & last_letters & (cased ? ~(marks | p.quotes) : ~uint64_t(0));
    if (cased) sure |= ends_of_words<family>(w, chunk, p.quotes & last_letters);
    return ((sure & ~p.continuations) | parts) & bits_below(least_of(w.size - chunk * kChunk, kChunk));
}

// One thread per chunk.
template <Family family>
struct FindBoundaries {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (chunks_of(w) + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t chunk = block.index() * kThreads + lane;
            if (chunk * kChunk >= w.size) return;
            const uint32_t windows = walk(w, chunk);
            if (windows >= kNoted) atomic_max(&w.totals->longest_walk, windows);
        });
    }

  private:
    static constexpr uint32_t kNoted = 64;  // in windows; shorter walks are not recorded in Totals::longest_walk

    struct Window {
        uint64_t starts;  // proven starts, without bit 0
        uint32_t size;
        uint32_t middle;  // where to continue if `starts` is 0; 0: nowhere
        bool whole;       // the window ends with a part's last pretoken
    };

    // The window of up to 64 bytes from a pretoken's start.
    CRAYON_DEVICE static Window window_at(const Work& w, uint32_t at) {
        const uint32_t chunk = at / kChunk, by = at % kChunk;
        const Masks m = masks_of<family>(planes_at(w, at));
        const uint64_t next_parts = word_of(w.parts, chunk + 1);
        const uint64_t parts = shifted(word_of(w.parts, chunk), next_parts, by) & ~uint64_t(1);
        uint32_t size = kChunk;
        bool last = (next_parts >> by & 1) != 0;
        if (parts != 0) {
            size = lowest_bit(parts);
            last = true;
        } else if (!last && (w.planes[chunk + 1].continuations >> by & 1) != 0) {
            size = highest_bit(~m.continuations);  // the window's end cuts a character
        }
        const Starts found = window_starts<family, true>(w.text + at, m, size, last);
        const uint64_t starts = found.bits & bits_below(found.limit + 1) & ~uint64_t(1);
        const uint32_t middle = starts == 0 && !found.whole ? middle_of_word<family>(m, size, found.limit) : 0;
        return {starts, size, middle, found.whole};
    }

    // Places in one chunk, as bits.
    struct Places {
        uint32_t chunk;
        uint64_t bits;
    };

    // Marks the pretokens that this thread finds from its chunk `own` on. Returns the number of scanned windows. A
    // document that needs more than kMostWindows is left to the CPU.
    CRAYON_DEVICE static uint32_t walk(const Work& w, uint32_t own) {
        uint32_t at = 0, windows = 0;
        bool has_begun = false;
        // `asked` has places to test for being sure: first those where this thread may start, later starts in other
        // chunks, where another thread may have started.
        for (Places asked{own, ~uint64_t(0)};;) {
            if (asked.bits != 0) {  // the only call of sure_places: with several, the compiler would not inline it
                const uint64_t sure = sure_places<family>(w, asked.chunk) & asked.bits;
                if (has_begun == (sure != 0)) return windows;
                if (!has_begun) {
                    at = own * kChunk + lowest_bit(sure);
                    set_bit(w.boundaries, at);
                    has_begun = true;
                }
            }
            if (windows == kMostWindows) {
                give_to_host(w, at);
                return windows;
            }
            ++windows;
            const Window window = window_at(w, at);
            mark(w, at, window.starts);
            asked = of_last_chunk(at, window.starts, own);
            if (window.whole) {
                at += window.size;
            } else if (window.starts != 0) {
                at += highest_bit(window.starts);
                continue;
            } else {
                if (window.middle >= kLong) at += window.middle;
                at = pretoken_end<family>(TextCursor{&w, at}, PartEnd{at}).at;  // skips long runs chunk by chunk
            }
            // Each part begins in some chunk, whose thread marks its start.
            if (has_bit(w.parts, at) && (at / kChunk > own || at == w.size)) return windows;
            set_bit(w.boundaries, at);
            asked = of_last_chunk(at, 1, own);
        }
    }

    CRAYON_DEVICE static void mark(const Work& w, uint32_t at, uint64_t starts) {
        const uint32_t by = at % 32;
        uint32_t* const words = w.boundaries + at / 32;
        const uint64_t low = starts << by, high = by == 0 ? 0 : starts >> (64 - by);
        if (uint32_t(low) != 0) atomic_or(words, uint32_t(low));
        if (low >> 32 != 0) atomic_or(words + 1, uint32_t(low >> 32));
        if (high != 0) atomic_or(words + 2, uint32_t(high));
    }

    // Returns the starts in the chunk of the last start, or none if that chunk is `own`. Bit 0 of `starts` is the place
    // `at`.
    CRAYON_DEVICE static Places of_last_chunk(uint32_t at, uint64_t starts, uint32_t own) {
        if (starts == 0) return {own, 0};
        const uint32_t chunk = (at + highest_bit(starts)) / kChunk, by = at % kChunk;
        if (chunk == own) return {own, 0};
        return {chunk, chunk == at / kChunk ? starts << by : starts >> (64 - by)};
    }
};

// Without a pattern, every part is one pretoken. One thread per word of the bitmap.
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
            w.boundaries[word] = w.parts[word] & ~end;
        });
    }
};

}  // namespace gpu
}  // namespace crayon
