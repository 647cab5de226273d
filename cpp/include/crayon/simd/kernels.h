// The functions of each instruction set, in one table for each. An engine chooses its table when it opens, and passes
// the table to its components.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/cartridge/cartridge_tables.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/support/bytes.h"
#include "crayon/support/cpu.h"

namespace crayon {

struct JsonLine;
struct MergeTables;
struct MergeTask;

// The scanner of each family. It serves both flavors, whose character classes and case foldings were measured to be
// equal.
struct Scanners {
    ScanFunction by_family[kFamilyCount];

    // Throws Error(argument) for an unknown number of a family.
    ScanFunction of(Family family) const;
};

// The offset of the first byte that is not valid UTF-8, or the size.
using Utf8Error = size_t (*)(const uint8_t* text, size_t size);

// How far a writer of UTF-8 got. It writes whole vectors until at most 79 units remain, and stops earlier at a
// vector with a code point that UTF-8 cannot encode. It writes no byte after the UTF-8 of the whole text.
struct Utf8Progress {
    size_t read;     // in units
    size_t written;  // in bytes
};
struct Utf8Writers {  // null: use a loop over the units
    Utf8Progress (*latin1)(const uint8_t* units, size_t n, uint8_t* to);
    Utf8Progress (*ucs2)(const uint16_t* units, size_t n, uint8_t* to);
    Utf8Progress (*ucs4)(const uint32_t* units, size_t n, uint8_t* to);
};

// Each writes the characters of valid UTF-8. `to` must have room for them, and units must be wide enough. Null: not
// faster than CPython's decoder.
struct UnitWriters {
    void (*ucs1)(Bytes text, size_t characters, uint8_t* to);
    void (*ucs2)(Bytes text, size_t characters, uint16_t* to);
    void (*ucs4)(Bytes text, size_t characters, uint32_t* to);

    void write(Bytes text, size_t characters, uint8_t* to) const { ucs1(text, characters, to); }
    void write(Bytes text, size_t characters, uint16_t* to) const { ucs2(text, characters, to); }
    void write(Bytes text, size_t characters, uint32_t* to) const { ucs4(text, characters, to); }
};

// Words of a text; each begins where the previous one ends.
struct TouchingWords {
    const size_t* ends;  // including the end of the word before the first one
    size_t start(size_t i) const { return ends[i]; }
    size_t end(size_t i) const { return ends[i + 1]; }
};

// Words at the places that `pieces` lists.
struct PieceWords {
    const Piece* pieces;
    size_t start(size_t i) const { return pieces[i].start; }
    size_t end(size_t i) const { return pieces[i].end; }
};

// The buckets of a WordCache: a key's bucket is hash(key) >> shift.
struct WordBuckets {
    const WordEntry* entries;  // two per bucket
    uint32_t shift;
};

// The passes over a block of words (word_block.h). Null: the plain pass runs.
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

// For 64 bytes: ASCII bytes that can join the ASCII byte before them, bytes that are not ASCII, and continuation bytes.
struct PairMasks {
    uint64_t joined, high, continuations;
};
// A table of the pairs of ASCII bytes that can join, in the layout of an instruction set.
struct AsciiPairs {
    size_t size;
    void (*add)(uint8_t* table, uint8_t before, uint8_t after);
    PairMasks (*masks)(const uint8_t* table, const uint8_t* p);  // of the bytes p[-1] to p[63]
};

// Gives the ids that Merger::merge gives (merge_batch.h). Null: merge them singly.
using MergeBatch = void (*)(const MergeTables& tables, MergeTask* tasks, size_t n);

struct Kernels {
    CpuLevel level;
    Scanners scanners;
    Utf8Error utf8_error;
    Utf8Writers utf8_writers;
    UnitWriters unit_writers;
    // Returns false if the line is unsure (json_lines.h). Of the line's fields, writes only `strings`, `room` and
    // `is_ascii`. Does not check UTF-8.
    bool (*read_json_line)(JsonLine* line);
    WordKernels words;
    AsciiPairs ascii_pairs;
    MergeBatch merge_batch;  // needs MergeTables::reachable_slots
};

// Each is defined only for the processors that may have its instruction set.
extern const Kernels kScalarKernels, kAvx2Kernels, kAvx512Kernels, kNeonKernels;

// Returns the kernels of `level`, which this CPU must have.
const Kernels& kernels_of(CpuLevel level);
// The kernels of selected_cpu_level(), which reads CRAYON_CPU.
const Kernels& selected_kernels();

}  // namespace crayon
