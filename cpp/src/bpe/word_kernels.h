// What an instruction set speeds up in the passes over a block of words (word_block.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpe/word_table.h"
#include "crayon/support/bytes.h"
#include "crayon/support/cpu.h"

namespace crayon {

// Words of a text, each of which begins where the one before it ends.
struct TouchingWords {
    const size_t* ends;  // that of the word before the first one too
    size_t start(size_t i) const { return ends[i]; }
    size_t end(size_t i) const { return ends[i + 1]; }
};

// Words wherever they are.
struct PieceWords {
    const Piece* pieces;
    size_t start(size_t i) const { return pieces[i].start; }
    size_t end(size_t i) const { return pieces[i].end; }
};

// Whether words come one behind the other, as all that works on a block of them relies on.
template <typename Words>
bool are_in_order(Words words, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (words.start(i) > words.end(i) || (i > 0 && words.end(i - 1) > words.start(i))) return false;
    return true;
}

// The buckets of a WordCache: a key's is hash(key) >> shift.
struct WordBuckets {
    const WordEntry* entries;  // two to a bucket
    uint32_t shift;
};

// Null: the plain way.
struct WordKernels {
    // The keys and buckets of the first words, with the lines of the buckets on their way; returns of how many, a part
    // of `n`. Each of the n begins 16 bytes before the end of the text, or earlier.
    size_t (*keys_of_touching)(const uint8_t* text, TouchingWords words, size_t n, WordBuckets in, WordKey* keys,
                               uint32_t* buckets) = nullptr;
    size_t (*keys_of_pieces)(const uint8_t* text, PieceWords words, size_t n, WordBuckets in, WordKey* keys,
                             uint32_t* buckets) = nullptr;
    // As WordBlock::look_up.
    size_t (*look_up)(size_t n, const WordEntry* in, const WordKey* keys, const uint32_t* buckets,
                      const WordEntry** entries, uint32_t* missed) = nullptr;
};

const WordKernels& word_kernels(CpuLevel level);
extern const WordKernels kWordKernelsAvx512;

}  // namespace crayon
