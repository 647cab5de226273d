// The input and output of a partition's kernels: pointers to the device's memory, and sizes. Kernels receive it by
// value.
//
// Positions and counts in a partition have 32 bits, so a partition has at most kMostBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "crayon/cartridge/cartridge_tables.h"
#include "crayon/cartridge/double_array.h"

namespace crayon {
namespace gpu {

constexpr uint32_t kMostBytes = 0x7FF00000;  // of a partition; all its counts stay below 2^31.
constexpr uint32_t kMostGrowth = 3;  // NFC makes at most this many bytes of one byte (Unicode, "Normalization", Table
                                     // 5).
constexpr uint32_t kChunk = 64;      // The bytes of text in which one thread finds boundaries.
constexpr uint32_t kMostWindows = 4096;  // Windows of 64 bytes that a thread scans for boundaries.
constexpr uint32_t kTile = 1024;         // Elements that a block sums: words of a bitmap, or pretokens.
constexpr uint32_t kShortMerge = 16, kMiddleMerge = 32, kLongMerge = 1024;  // Limits in bytes of the three ways to
                                                                            // merge.

// Tables::byte_flags of a byte.
//    _____ccc class of an ASCII character
//    ____1___ kBlankFlag     __1_____ kSlashFlag       1_______ kAddedFlag
//    ___1____ kQuoteFlag     _1______ kNotAsciiFlag
constexpr uint8_t kBlankFlag = 1 << 3, kQuoteFlag = 1 << 4, kSlashFlag = 1 << 5, kNotAsciiFlag = 1 << 6;
constexpr uint8_t kAddedFlag = 1 << 7;  // an added token begins with this byte

// Properties of 64 bytes of text, one bit per byte. `classes` has the three bits of the class (CharClass) of the byte's
// character. `continuations` marks all but the first byte of a character.
struct Planes {
    uint64_t classes[3];
    uint64_t continuations, blanks, quotes, slashes, unused;
};

// The vocabulary's tables in the device's memory, uploaded once. They are sections of the cartridge, except for the
// added tokens.
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
    // The merges that can happen (encode/merger/reachable_merges.h); null without such a table.
    const uint16_t* reachable_pilots;
    const uint64_t* reachable_slots;
    uint32_t reachable_pilot_shift, reachable_slot_shift;
    DoubleArrayView trie;
    uint32_t max_token_bytes;
    const uint8_t* token_flags;  // TokenFlag by id
    // A trie from the contents of added tokens, as texts have them, to their ids. If `added_is_plain`, every match is
    // an added token, wherever it is. Otherwise a document with a match is left to the CPU.
    DoubleArrayView added;
    bool added_is_plain;
    // A bit for each code point that the normalizer keeps in any context. A document with other characters is left to
    // the CPU. The pointer is null without a normalizer.
    const uint32_t* stable_chars;
    bool longest_match;
    const uint32_t* never;  // a bit for each id that text never becomes in greedy mode; or null
    uint32_t never_words;
    uint32_t unknown_first, unknown_id;  // ids from unknown_first on are replaced by unknown_id
};

// Counters that the host reads between steps.
struct Totals {
    uint32_t pretokens;
    uint32_t ids;
    uint32_t merged_bytes;                       // bytes of pretokens to merge: an upper limit of their ids
    uint32_t n_short, n_middle, n_long, n_host;  // number of tasks by size
    uint32_t any_host_document;
    uint32_t not_kept;      // merged words that found no room in the cache
    uint32_t longest_walk;  // the most windows that one thread scanned for boundaries (boundaries.h); 0 if all walks
                            // were short
};

// A pretoken to merge, and where its ids go.
struct Task {
    uint32_t pretoken;
    uint32_t at;  // in Work::merged
};

// A pretoken for the CPU: a very long one, or a whole document.
struct HostTask {
    uint32_t pretoken;
    uint32_t start, size;  // bytes
    uint32_t is_document;
};

struct Work {
    Tables tables;
    const uint8_t* text;  // [size]
    uint32_t size;
    const uint64_t* offsets;  // [n_documents + 1], offsets in the batch; the partition's text begins at offsets[0]
    uint32_t n_documents;

    // Bitmaps over the text and one more place, in words of 32 bits, followed by zeros (bitmap_words in planes.h).
    uint32_t* parts;        // Starts of documents and added tokens, ends of added tokens; and the end.
    uint32_t* documents;    // Starts of documents, and the end
    uint32_t* added;        // starts of added tokens
    uint32_t* boundaries;   // Starts of pretokens.
    Planes* planes;         // Planes of each chunk, and one more that is zero.
    uint8_t* chunk_sets;    // Sets of the classes of each chunk's characters.
    uint32_t* tile_sets;    // Such a set for each tile of chunks, with a flag for a part's start.
    uint8_t* digit_states;  // States of each chunk: see chunks.h.
    uint8_t* digit_tiles;   // states of each tile of chunks
    // For longest matches (longest.h): the size of each byte's match, and the exits and entries of tiles and groups.
    uint16_t *match_sizes, *tile_exits, *group_exits, *tile_entries, *group_entries;
    uint8_t* is_host;  // for each document: whether it is left to the CPU

    uint32_t* word_tiles;  // for each tile of words of `boundaries`: the number of pretokens before it
    uint32_t n_pretokens;
    uint32_t* starts;  // [n_pretokens + 1]
    // For each pretoken: its id, or the place of its ids (repeats.h).
    uint32_t* results;
    uint32_t* counts;    // Count (repeats.h); later the number of ids before the pretoken
    uint32_t* id_tiles;  // for each tile of pretokens: the number of ids before it
    Task *short_tasks, *middle_tasks, *long_tasks;
    HostTask* host_tasks;
    const Task* placed;  // for each host task, the place of its ids; one more for the end of the last task's ids
    uint32_t n_placed;
    uint32_t* merged;
    // A hash table of pretokens to merge: the number of the first of equal pretokens, plus one (repeats.h). Zero if
    // empty.
    uint32_t* seen;    // [seen_places], a power of two
    WordEntry* cache;  // [cache_entries], a power of two; from earlier partitions
    uint32_t seen_places, cache_entries;

    const int32_t* frame;  // special ids before each document's ids, then those after them
    uint32_t n_before, n_after;
    int32_t* ids;
    int64_t* row_splits;  // [n_documents + 1]
    Totals* totals;
};

// The compilers of the host and of every device must use the same layout, because one writes what another reads. Update
// the numbers when the structures change.
static_assert(std::is_trivially_copyable<Work>::value && std::is_standard_layout<Work>::value, "kernels get a copy");
static_assert(sizeof(void*) == 8 && sizeof(bool) == 1, "as a GPU has them");
static_assert(sizeof(Tables) == 248 && offsetof(Tables, never) == 224, "laid out alike");
static_assert(sizeof(Work) == 568 && offsetof(Work, text) == 248 && offsetof(Work, totals) == 560, "laid out alike");
static_assert(sizeof(Totals) == 40 && sizeof(Task) == 8 && sizeof(HostTask) == 16, "laid out alike");

}  // namespace gpu
}  // namespace crayon
