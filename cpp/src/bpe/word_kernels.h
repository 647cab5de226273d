// Replacements of the passes over a block of words (word_block.h) for an instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpe/word_table.h"
#include "crayon/support/bytes.h"
#include "crayon/support/cpu.h"

namespace crayon {

// Words of a text; each begins where the previous one ends.
struct TouchingWords {
    const size_t* ends;  // including the end of the word before the first one
    size_t start(size_t i) const { return ends[i]; }
    size_t end(size_t i) const { return ends[i + 1]; }
};

// Words at any places.
struct PieceWords {
    const Piece* pieces;
    size_t start(size_t i) const { return pieces[i].start; }
    size_t end(size_t i) const { return pieces[i].end; }
};

// Whether words are in order and disjoint, as all passes require.
template <typename Words>
bool are_in_order(Words words, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (words.start(i) > words.end(i) || (i > 0 && words.end(i - 1) > words.start(i))) return false;
    return true;
}

// The buckets of a WordCache: a key's bucket is hash(key) >> shift.
struct WordBuckets {
    const WordEntry* entries;  // two per bucket
    uint32_t shift;
};

// A null function means that the plain pass runs.
struct WordKernels {
    // Makes the keys and buckets of the first words and prefetches the buckets. Returns the number of words that it
    // handled, at most `n`. Each of the `n` words must begin at least 16 bytes before the end of the text.
    size_t (*keys_of_touching)(const uint8_t* text, TouchingWords words, size_t n, WordBuckets in, WordKey* keys,
                               uint32_t* buckets) = nullptr;
    size_t (*keys_of_pieces)(const uint8_t* text, PieceWords words, size_t n, WordBuckets in, WordKey* keys,
                             uint32_t* buckets) = nullptr;
    // Does what WordBlock::look_up does.
    size_t (*look_up)(size_t n, const WordEntry* in, const WordKey* keys, const uint32_t* buckets,
                      const WordEntry** entries, uint32_t* missed) = nullptr;
};

const WordKernels& word_kernels(CpuLevel level);
extern const WordKernels kWordKernelsAvx512;

}  // namespace crayon
