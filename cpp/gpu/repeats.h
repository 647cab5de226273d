// Merges each distinct pretoken once. A partition merges one of equal pretokens that the word table lacks, and the
// others take its ids. A cache keeps the merged words of earlier partitions in the same stream.
//
// Example: three pretokens 4, 7 and 9 have equal bytes and are in no table. 4 becomes a task. 7 and 9 get the count
// kRepeat and the result 4, until RepeatIds copies the result of 4.
#pragma once

#include "text.h"

namespace crayon {
namespace gpu {

// Work::counts has the number of ids of a pretoken. Work::results has the id itself if the count is 1. Otherwise it has
// an entry of the word table or the cache or, with kMerged, a place in Work::merged.
//    Work::counts   1_______ kMerged   _nnnnnnn number of ids   11111111 kRepeat (first byte)
//    Work::results  1_______ kCached   _eeeeeee entry of the cache
struct Count {
    static constexpr uint32_t kMerged = uint32_t(1) << 31;
    static constexpr uint32_t kIds = kMerged - 1;
    static constexpr uint32_t kRepeat = ~uint32_t(0);  // until RepeatIds: the result is a pretoken with equal bytes
    static constexpr uint32_t kCached = uint32_t(1) << 31;  // in results: an entry of the cache
};

// The key of a pretoken of 1 to kWordKeyBytes bytes, in the layout of WordEntry.
struct TextKey {
    uint64_t lo, hi;
};
CRAYON_DEVICE inline TextKey text_key(const Work& w, uint32_t at, uint32_t size) {
    return {low_bytes(load_eight(w.text, at), size),
            (size > 8 ? low_bytes(load_eight(w.text, at + 8), size - 8) : 0) | uint64_t(size) << 56};
}

CRAYON_DEVICE inline bool has_key(const WordEntry& entry, TextKey key) {
    return entry.key[0] == key.lo && (entry.key[1] & kWordKeyMask) == key.hi;
}

// -- the cache: entries stay unchanged until all are cleared; kCacheWays entries form a line

constexpr uint32_t kCacheWays = 4;

CRAYON_DEVICE inline uint32_t cache_line(const Work& w, uint64_t hash) {
    return (uint32_t(hash >> 32) & (w.cache_entries / kCacheWays - 1)) * kCacheWays;
}

// Returns the entry of the key, or `none` if the cache lacks it.
CRAYON_DEVICE inline uint32_t find_cached(const Work& w, TextKey key, uint64_t hash, uint32_t none) {
    const uint32_t first = cache_line(w, hash);
    for (uint32_t i = first; i < first + kCacheWays; ++i) {
        const WordEntry& entry = w.cache[i];
        if (entry.key[1] == 0) break;  // entries are filled in order
        if (has_key(entry, key)) return i;
    }
    return none;
}

// Adds merged pretokens to the cache. One thread per task. A thread claims a free entry by writing the second word of
// its key. No thread reads what another writes here, and lookups run in other launches.
struct KeepMerged {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(uint32_t n_tasks) { return (n_tasks + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t i = block.index() * kThreads + lane;
            if (i < w.totals->n_short) keep(w, w.short_tasks[i].pretoken);
        });
    }

  private:
    CRAYON_DEVICE static void keep(const Work& w, uint32_t pretoken) {
        const uint32_t at = w.starts[pretoken], size = w.starts[pretoken + 1] - at;
        const uint32_t count = w.counts[pretoken] & Count::kIds;
        if (size > kWordKeyBytes || count > kWordIds) return;
        const TextKey key = text_key(w, at, size);
        const uint32_t first = cache_line(w, word_hash(key.lo, key.hi));
        for (uint32_t place = first; place < first + kCacheWays; ++place) {
            WordEntry& entry = w.cache[place];
            if (atomic_put(&entry.key[1], key.hi | uint64_t(count) << 60) == 0) {
                entry.key[0] = key.lo;
                for (uint32_t k = 0; k < count; ++k) entry.ids[k] = w.merged[w.results[pretoken] + k];
                return;
            }
        }
        atomic_add(&w.totals->not_kept, 1);
    }
};

// -- repeats within a partition

constexpr uint32_t kProbes = 8;  // a pretoken that finds this many places taken by other pretokens is merged, even if
                                 // an equal one is, too

CRAYON_DEVICE inline uint64_t text_hash(const Work& w, uint32_t at, uint32_t size) {
    uint64_t hash = size;
    for (uint32_t i = 0; i < size; i += 16) {
        const uint32_t left = size - i;
        hash = word_hash(hash ^ low_bytes(load_eight(w.text, at + i), left),
                         left > 8 ? low_bytes(load_eight(w.text, at + i + 8), left - 8) : 0);
    }
    return hash;
}

CRAYON_DEVICE inline bool same_text(const Work& w, uint32_t a, uint32_t b, uint32_t size) {
    for (uint32_t i = 0; i < size; i += 8)
        if (low_bytes(load_eight(w.text, a + i) ^ load_eight(w.text, b + i), size - i) != 0) return false;
    return true;
}

// Returns the pretoken that is merged for all pretokens with these bytes: the first one that a thread looked up,
// perhaps this one. The first one is random, but the ids are equal.
CRAYON_DEVICE inline uint32_t first_of_kind(const Work& w, uint32_t pretoken, uint64_t hash) {
    const uint32_t at = w.starts[pretoken], size = w.starts[pretoken + 1] - at;
    for (uint32_t i = 0; i < kProbes; ++i) {
        const uint32_t place = (uint32_t(hash) + i) & (w.seen_places - 1);
        const uint32_t there = atomic_put(w.seen + place, pretoken + 1);
        if (there == 0) return pretoken;
        const uint32_t other = there - 1, other_at = w.starts[other];
        if (w.starts[other + 1] - other_at == size && same_text(w, at, other_at, size)) return other;
    }
    return pretoken;
}

// Gives pretokens with the count kRepeat the ids of the equal pretoken. One thread per pretoken.
struct RepeatIds {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.n_pretokens + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t i = block.index() * kThreads + lane;
            if (i >= w.n_pretokens || w.counts[i] != Count::kRepeat) return;
            const uint32_t first = w.results[i];
            w.results[i] = w.results[first];
            w.counts[i] = w.counts[first];
        });
    }
};

}  // namespace gpu
}  // namespace crayon
