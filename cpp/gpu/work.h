// What the kernels of one partition read and write: pointers to the device's memory, and sizes. A kernel gets it whole,
// by value.
//
// Text positions, and all that is counted in a partition, have 32 bits: a partition has at most kMostBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "crayon/cartridge/cartridge_tables.h"
#include "crayon/cartridge/double_array.h"

namespace crayon {
namespace gpu {

constexpr uint32_t kMostBytes = 0x7FF00000;  // of a partition; what is counted of it stays below 2^31
constexpr uint32_t kMostGrowth = 3;          // bytes that NFC makes of one, at most (Unicode, "Normalization", Table 5)
constexpr uint32_t kChunk = 64;              // bytes of text that a thread finds the boundaries of
constexpr uint32_t kMostWindows = 4096;      // of 64 bytes, that a thread looks through for boundaries
constexpr uint32_t kTile = 1024;             // elements that a block adds up: words of a bitmap, or pretokens
constexpr uint32_t kShortMerge = 16, kMiddleMerge = 32, kLongMerge = 1024;  // bytes of what is merged in each way

// What Tables::byte_flags has of a byte: the class of an ASCII character in three bits, and these.
constexpr uint8_t kBlankFlag = 1 << 3, kQuoteFlag = 1 << 4, kSlashFlag = 1 << 5, kNotAsciiFlag = 1 << 6;
constexpr uint8_t kAddedFlag = 1 << 7;  // an added token begins with it

// 64 bytes of text, a bit for each: the three bits of the class of the character that it belongs to (CharClass),
// whether it is of a character but not its first byte, and whether it is one of three ASCII characters.
struct Planes {
    uint64_t classes[3];
    uint64_t continuations, blanks, quotes, slashes, unused;
};

// The vocabulary, uploaded once. Sections of the cartridge as they are, but for the added tokens.
struct Tables {
    const uint8_t* class_index;   // crayon/unicode/unicode.h, as in class_lookup.h: [8704]
    const uint8_t* class_blocks;  // [231][128]
    const uint8_t* byte_flags;    // [256]
    const WordEntry* words;
    uint64_t word_bucket_mask;
    const uint32_t* byte_ids;         // [256]
    const uint32_t* byte_pair_ranks;  // [65536]
    const uint32_t* products;
    const uint64_t* pair_filter;
    const uint64_t* pair_slots;
    uint64_t pair_mask;
    uint32_t filter_shift, pair_shift;
    // The merges that happen (bpe/reachable_merges.h); null when there is no such table.
    const uint16_t* reachable_pilots;
    const uint64_t* reachable_slots;
    uint32_t reachable_pilot_shift, reachable_slot_shift;
    DoubleArrayView trie;
    uint32_t max_token_bytes;
    const uint8_t* token_flags;  // TokenFlag by id
    // Added tokens that are looked for in the text: a trie over their contents, whose values are ids; and whether a
    // match is one wherever it stands. If not, a document that has one is the CPU's.
    DoubleArrayView added;
    bool added_is_plain;
    // A bit for each code point that the normalizer leaves alone, whatever stands beside it: a document with another
    // character is the CPU's. Null: there is no normalizer.
    const uint32_t* stable_chars;
    bool longest_match;
    const uint32_t* never;  // a bit for each id that no text becomes, in greedy mode; or null
    uint32_t never_words;
    uint32_t unknown_first, unknown_id;  // ids from the first on are given as the other
};

// Counters that the host reads between the steps.
struct Totals {
    uint32_t pretokens;
    uint32_t ids;
    uint32_t merged_bytes;                       // of pretokens that are merged: ids that room is made for
    uint32_t n_short, n_middle, n_long, n_host;  // how many of them, by size
    uint32_t any_host_document;
    uint32_t not_kept;      // what was merged and had no room in the cache
    uint32_t longest_walk;  // windows, of the thread that looked for pretokens the longest (boundaries.h); 0 if all
                            // were short
};

// A pretoken to be merged, and where its ids go.
struct Task {
    uint32_t pretoken;
    uint32_t at;  // in Work::merged
};

// A pretoken that the CPU encodes: one that is very long, or a whole document.
struct HostTask {
    uint32_t pretoken;
    uint32_t start, size;  // bytes
    uint32_t is_document;
};

struct Work {
    Tables tables;
    const uint8_t* text;  // [size]
    uint32_t size;
    const uint64_t* offsets;  // [n_documents + 1], of the batch; the partition's text begins at offsets[0]
    uint32_t n_documents;

    // Bitmaps over the text and one place more, in words of 32 bits; zeros behind (bitmap_words in planes.h).
    uint32_t* segments;     // where a document begins, or an added token, or what is behind one; and the end
    uint32_t* documents;    // where a document begins, and the end
    uint32_t* added;        // where an added token begins
    uint32_t* boundaries;   // where a pretoken begins
    Planes* planes;         // of each chunk, and one more that is zero
    uint8_t* chunk_sets;    // of each chunk: which classes its characters have
    uint32_t* tile_sets;    // of each tile of chunks, the same, and more where it has a segment's start
    uint8_t* digit_states;  // of each chunk: see chunks.h
    uint8_t* digit_tiles;   // of each tile of chunks, the same
    // Of longest matches (longest.h): of each byte how far its match reaches, of each tile and group where it is left
    // and entered.
    uint16_t *match_sizes, *tile_exits, *group_exits, *tile_entries, *group_entries;
    uint8_t* is_host;  // of each document: whether it is the CPU's

    uint32_t* word_tiles;  // of each tile of words of `boundaries`: pretokens before it
    uint32_t n_pretokens;
    uint32_t* starts;  // [n_pretokens + 1]
    // What a pretoken became: its id, or where its ids are.
    uint32_t* results;
    uint32_t* counts;    // Count; later the ids before it
    uint32_t* id_tiles;  // of each tile of pretokens: ids before it
    Task *short_tasks, *middle_tasks, *long_tasks;
    HostTask* host_tasks;
    const Task* placed;  // of the host tasks, and one more that says where the last one's ids end
    uint32_t n_placed;
    uint32_t* merged;
    // Of pretokens that are merged: which one was the first of its kind, plus one (repeats.h); zero before.
    uint32_t* seen;    // [seen_places], a power of two
    WordEntry* cache;  // [cache_entries], a power of two; of earlier partitions
    uint32_t seen_places, cache_entries;

    const int32_t* frame;  // special ids before each document's, then those behind them
    uint32_t n_before, n_after;
    int32_t* ids;
    int64_t* row_splits;  // [n_documents + 1]
    Totals* totals;
};

// The compilers of the host and of every device lay these out alike: one writes what another's kernels read. Change the
// numbers with the structures.
static_assert(std::is_trivially_copyable<Work>::value && std::is_standard_layout<Work>::value, "a kernel gets a copy");
static_assert(sizeof(void*) == 8 && sizeof(bool) == 1, "as a GPU has them");
static_assert(sizeof(Tables) == 248 && offsetof(Tables, never) == 224, "laid out alike");
static_assert(sizeof(Work) == 568 && offsetof(Work, text) == 248 && offsetof(Work, totals) == 560, "laid out alike");
static_assert(sizeof(Totals) == 40 && sizeof(Task) == 8 && sizeof(HostTask) == 16, "laid out alike");

}  // namespace gpu
}  // namespace crayon
