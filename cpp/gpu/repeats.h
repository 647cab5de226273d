// What makes each distinct pretoken be merged once: of those that the word table does not have, a partition merges the
// first one of its kind, and the others take its ids; and a cache has what earlier partitions of the same stream
// merged.
#pragma once

#include "text.h"

namespace crayon {
namespace gpu {

// What a pretoken became, in Work::counts: so many ids. One is the result itself; of several from the word table or the
// cache the result says which entry, of others a place in Work::merged, and these say so.
struct Count {
    static constexpr uint32_t kMerged = uint32_t(1) << 31;
    static constexpr uint32_t kIds = kMerged - 1;
    static constexpr uint32_t kRepeat = ~uint32_t(0);  // the result is a pretoken of the same bytes; until RepeatIds
    static constexpr uint32_t kCached = uint32_t(1) << 31;  // of a result: an entry of the cache
};

// The key of a pretoken of 1 to kWordKeyBytes bytes, as WordEntry has it.
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

// -- the cache: entries that are never changed until all are cleared, kCacheWays to a line of it

constexpr uint32_t kCacheWays = 4;

CRAYON_DEVICE inline uint32_t cache_line(const Work& w, uint64_t hash) {
    return (uint32_t(hash >> 32) & (w.cache_entries / kCacheWays - 1)) * kCacheWays;
}

// Which entry has the key, or `none`.
CRAYON_DEVICE inline uint32_t find_cached(const Work& w, TextKey key, uint64_t hash, uint32_t none) {
    const uint32_t first = cache_line(w, hash);
    for (uint32_t i = first; i < first + kCacheWays; ++i) {
        const WordEntry& entry = w.cache[i];
        if (entry.key[1] == 0) break;  // they are filled in order
        if (has_key(entry, key)) return i;
    }
    return none;
}

// Puts what was merged into the cache. One thread to a task. Threads that want the same place take it by its second
// word; none of them reads what another writes, and whoever looks for words is of another launch.
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

constexpr uint32_t kProbes = 8;  // after so many places taken by others a pretoken is merged again

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

// The pretoken that is merged for this one, which is the one itself where it is the first of its kind. Which one comes
// first is left to chance; their bytes are the same, and so are the ids.
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

// Gives what repeats another its ids. One thread to a pretoken.
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
