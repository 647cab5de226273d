// Marks parts, which no pretoken crosses: documents and added tokens. Also marks the documents that are left to the
// CPU.
//
// Example: the documents "ab" and "c" have parts at 0 and 2, and one at the end, 3.
#pragma once

#include "text.h"

namespace crayon {
namespace gpu {

// Returns the index of the last of `count` ascending places that is at most `at`. The first place is always at most
// `at`.
template <typename PlaceOf>
CRAYON_DEVICE inline uint32_t last_not_beyond(uint32_t count, uint32_t at, PlaceOf place_of) {
    uint32_t first = 0;
    while (count > 1) {
        const uint32_t half = count / 2;
        if (place_of(first + half) <= at) first += half;
        count -= half;
    }
    return first;
}

// The document of the byte at `at`: the last one that begins there or before.
CRAYON_DEVICE inline uint32_t document_of(const Work& w, uint32_t at) {
    return last_not_beyond(w.n_documents, at, [&](uint32_t i) { return w.offsets[i] - w.offsets[0]; });
}

// Marks the start of each document in the bitmaps Work::parts and Work::documents, which must be zero before. One
// thread per document, and one for the end.
struct MarkDocuments {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.n_documents + 1 + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t document = block.index() * kThreads + lane;
            if (document > w.n_documents) return;
            const uint32_t at = uint32_t(w.offsets[document] - w.offsets[0]);
            set_bit(w.documents, at);
            set_bit(w.parts, at);
        });
    }
};

// Leaves the document at `at` to the CPU. Many lanes may mark the same document at a time; volatile accesses make that
// well-defined.
CRAYON_DEVICE inline void give_to_host(const Work& w, uint32_t at) {
    volatile uint8_t* const is_host = w.is_host;
    is_host[document_of(w, at)] = 1;
    volatile uint32_t* const any = &w.totals->any_host_document;
    if (*any == 0) atomic_or(&w.totals->any_host_document, 1);
}

struct AddedMatch {
    uint32_t size;
    int32_t id;
};
// The longest added token that begins at `at`, inside its document.
CRAYON_DEVICE inline AddedMatch match_added(const Work& w, uint32_t at) {
    const DoubleArrayView& added = w.tables.added;
    AddedMatch best{0, -1};
    int32_t node = 0;
    for (uint32_t i = at; i == at || !has_bit(w.documents, i); ++i) {
        node = added.step(node, w.text[i]);
        if (node < 0) break;
        if (added.values[node] >= 0) best = {i + 1 - at, added.values[node]};
    }
    return best;
}

// Finds added tokens in the text. One thread per eight bytes.
struct FindAdded {
    static constexpr uint32_t kThreads = 256, kEach = 8;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.size + kThreads * kEach - 1) / (kThreads * kEach); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t start = (block.index() * kThreads + lane) * kEach;
            if (start >= w.size) return;
            uint32_t firsts = 0;
            const uint64_t word = load_eight(w.text, start);
            for (uint32_t k = 0; k < kEach; ++k)
                firsts |= uint32_t(w.tables.byte_flags[word >> 8 * k & 0xFF] & kAddedFlag) >> 7 << k;
            for (; firsts != 0; firsts &= firsts - 1) {
                const uint32_t at = start + lowest_one(firsts);
                if (at >= w.size) return;
                const AddedMatch match = match_added(w, at);
                if (match.size == 0) continue;
                if (!w.tables.added_is_plain) {
                    give_to_host(w, at);
                    continue;
                }
                set_bit(w.added, at);
                set_bit(w.parts, at);
                set_bit(w.parts, at + match.size);
            }
        });
    }
};

// Clears all places between `first` and `last`, exclusive, in one word of the bitmap.
CRAYON_DEVICE inline void clear_word(const Work& w, uint32_t word, uint32_t first, uint32_t last) {
    uint32_t clear = ~uint32_t(0);
    if (word == first / 32) clear &= ~ones_below(first % 32 + 1);
    if (word == last / 32) clear &= ones_below(last % 32);
    atomic_and(w.boundaries + word, ~clear);
}

// Makes each added token one pretoken. One thread per word of the bitmap.
struct JoinAdded {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.size / 32 + 1 + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t word = block.index() * kThreads + lane;
            if (word > w.size / 32) return;
            for (uint32_t bits = w.added[word]; bits != 0; bits &= bits - 1) {
                const uint32_t first = word * 32 + lowest_one(bits), last = first + match_added(w, first).size;
                for (uint32_t i = first / 32; i <= last / 32; ++i) clear_word(w, i, first, last);
            }
        });
    }
};

// Makes each document that is left to the CPU one pretoken. One thread per word of the bitmap, if such documents exist.
struct JoinHostDocuments {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return JoinAdded::blocks(w); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        if (w.totals->any_host_document == 0) return;
        block.each([&](uint32_t lane) {
            const uint32_t word = block.index() * kThreads + lane, begin = word * 32;
            if (begin >= w.size) return;
            for (uint32_t i = document_of(w, begin); i < w.n_documents; ++i) {
                const uint32_t first = uint32_t(w.offsets[i] - w.offsets[0]);
                if (first >= begin + 32) return;
                if (w.is_host[i]) clear_word(w, word, first, uint32_t(w.offsets[i + 1] - w.offsets[0]));
            }
        });
    }
};

}  // namespace gpu
}  // namespace crayon
