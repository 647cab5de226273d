// Lists pretokens from their boundaries, and looks up their ids in the word table. Pretokens without an entry become
// tasks.
//
// Example: the boundaries 0 and 3 of a text of 5 bytes (bitmap __01001) give the starts 0, 3, 5.
#pragma once

#include "chunks.h"
#include "longest.h"
#include "repeats.h"

namespace crayon {
namespace gpu {

// Tells CountTiles and ScanTiles which counts to sum, and where the sums are stored. Here: the number of boundaries in
// each word of the bitmap.
struct BoundaryCounts {
    CRAYON_DEVICE static uint32_t size(const Work& w) { return w.size / 32 + 1; }
    CRAYON_DEVICE static uint32_t at(const Work& w, uint32_t i) { return count_bits(w.boundaries[i]); }
    CRAYON_DEVICE static uint32_t* tiles(const Work& w) { return w.word_tiles; }
    CRAYON_DEVICE static uint32_t* total(const Work& w) { return &w.totals->pretokens; }
};
// The same for the number of ids of each pretoken.
struct IdCounts {
    CRAYON_DEVICE static uint32_t size(const Work& w) { return w.n_pretokens; }
    CRAYON_DEVICE static uint32_t at(const Work& w, uint32_t i) { return w.counts[i] & Count::kIds; }
    CRAYON_DEVICE static uint32_t* tiles(const Work& w) { return w.id_tiles; }
    CRAYON_DEVICE static uint32_t* total(const Work& w) { return &w.totals->ids; }
};

// Sums kTile counts. One block per tile.
template <typename Counts>
struct CountTiles {
    static constexpr uint32_t kThreads = 256, kEach = kTile / kThreads;
    using Shared = Block<kThreads>::Sums;

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (Counts::size(w) + kTile - 1) / kTile; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        PerLane<uint32_t, kThreads> counts;
        block.each([&](uint32_t lane) {
            counts[lane] = 0;
            for (uint32_t i = 0; i < kEach; ++i) {
                const uint32_t at = block.index() * kTile + i * kThreads + lane;
                if (at < Counts::size(w)) counts[lane] += Counts::at(w, at);
            }
        });
        const uint32_t total = block.exclusive_sum(counts, shared);
        block.once([&] { Counts::tiles(w)[block.index()] = total; });
    }
};

// Turns the sums of tiles into exclusive prefix sums. One block for all tiles.
template <typename Counts>
struct ScanTiles {
    static constexpr uint32_t kThreads = 1024;
    using Shared = Block<kThreads>::Sums;

    CRAYON_DEVICE static uint32_t blocks(const Work&) { return 1; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        uint32_t* const tiles = Counts::tiles(w);
        const uint32_t n = CountTiles<Counts>::blocks(w);
        uint32_t before = 0;
        for (uint32_t first = 0; first < n; first += kThreads) {
            PerLane<uint32_t, kThreads> sums;
            block.each([&](uint32_t lane) { sums[lane] = first + lane < n ? tiles[first + lane] : 0; });
            const uint32_t total = block.exclusive_sum(sums, shared);
            block.each([&](uint32_t lane) {
                if (first + lane < n) tiles[first + lane] = before + sums[lane];
            });
            before += total;
        }
        block.once([&] { *Counts::total(w) = before; });
    }
};

// Writes the starts of pretokens. One block per tile of words.
struct ListPretokens {
    static constexpr uint32_t kThreads = 256, kEach = kTile / kThreads;
    using Shared = Block<kThreads>::Sums;

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return CountTiles<BoundaryCounts>::blocks(w); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        PerLane<uint32_t, kThreads> counts;
        block.each([&](uint32_t lane) {
            counts[lane] = 0;
            for (uint32_t i = 0; i < kEach; ++i) {
                const uint32_t word = block.index() * kTile + lane * kEach + i;
                if (word < BoundaryCounts::size(w)) counts[lane] += BoundaryCounts::at(w, word);
            }
        });
        block.exclusive_sum(counts, shared);
        block.each([&](uint32_t lane) {
            uint32_t n = w.word_tiles[block.index()] + counts[lane];
            for (uint32_t i = 0; i < kEach; ++i) {
                const uint32_t word = block.index() * kTile + lane * kEach + i;
                if (word >= BoundaryCounts::size(w)) break;
                for (uint32_t bits = w.boundaries[word]; bits != 0; bits &= bits - 1)
                    w.starts[n++] = word * 32 + lowest_one(bits);
            }
            if (block.index() + 1 == blocks(w) && lane + 1 == kThreads) w.starts[n] = w.size;
        });
    }
};

// Returns the entry of a key in the word table, or `none` if the table lacks it, as find_word in word_table.h does.
CRAYON_DEVICE inline uint32_t find_entry(const Tables& t, TextKey key, uint64_t hash, uint32_t none) {
    for (uint64_t b = hash & t.word_bucket_mask;; b = (b + 1) & t.word_bucket_mask) {
        const WordEntry* const bucket = t.words + 2 * b;
        if (has_key(bucket[0], key)) return uint32_t(2 * b);
        if (has_key(bucket[1], key)) return uint32_t(2 * b + 1);
        if (bucket[1].key[1] == 0) return none;
    }
}

// Returns the token that equals a whole pretoken of more than kWordKeyBytes bytes, or -1 if none does.
CRAYON_DEVICE inline int32_t find_whole(const Work& w, uint32_t at, uint32_t size) {
    const Tables& t = w.tables;
    if (size > t.max_token_bytes || t.trie.size == 0) return -1;
    int32_t node = 0;
    for (uint32_t i = at; i < at + size; ++i)
        if ((node = t.trie.step(node, w.text[i])) < 0) return -1;
    const int32_t id = t.trie.values[node];
    return id >= 0 && (t.token_flags[id] & kWhole) ? id : -1;
}

// Looks pretokens up. One thread per pretoken. Of equal pretokens that are in neither the word table nor the cache, the
// first becomes a task. Tasks are few, so an atomic operation for each assigns its place in the list.
struct LookUpWords {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.n_pretokens + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t i = block.index() * kThreads + lane;
            if (i < w.n_pretokens) look_up(w, i);
        });
    }

  private:
    CRAYON_DEVICE static void look_up(const Work& w, uint32_t i) {
        constexpr uint32_t kNone = 0xFFFFFFFFu;
        const uint32_t at = w.starts[i], size = w.starts[i + 1] - at;
        uint32_t result = 0, count = 1;
        uint64_t hash = 0;
        bool is_known = true, is_host = false;
        if (is_host_document(w, at)) {
            is_host = true;
        } else if (w.tables.added.size > 0 && has_bit(w.added, at)) {
            result = uint32_t(match_added(w, at).id);
        } else if (w.tables.longest_match) {
            const uint32_t id = uint32_t(longest_match_at(w, at, w.boundaries).id);
            result = id < w.tables.unknown_first ? id : w.tables.unknown_id;
        } else if (size <= kWordKeyBytes) {
            const TextKey key = text_key(w, at, size);
            hash = word_hash(key.lo, key.hi);
            uint32_t entry = find_entry(w.tables, key, hash, kNone), of_cache = 0;
            const WordEntry* entries = w.tables.words;
            if (entry == kNone) {
                entry = find_cached(w, key, hash, kNone);
                entries = w.cache;
                of_cache = Count::kCached;
            }
            is_known = entry != kNone;
            if (is_known) {
                count = uint32_t(entries[entry].key[1] >> 60);
                result = count == 1 ? entries[entry].ids[0] : entry | of_cache;
            }
        } else {
            const int32_t id = find_whole(w, at, size);
            result = uint32_t(id);
            is_known = id >= 0;
            is_host = !is_known && size > kLongMerge;
            if (!is_known && !is_host) hash = text_hash(w, at, size);
        }
        if (is_host) {
            const uint32_t place = atomic_add(&w.totals->n_host, 1);
            w.host_tasks[place] = {i, at, size, is_host_document(w, at)};
            w.counts[i] = 0;  // PlaceHostIds sets it later; RepeatIds may read it before
            return;
        }
        if (!is_known) {
            result = first_of_kind(w, i, hash);
            count = Count::kRepeat;
            if (result == i) {
                add_task(w, i, size);
                return;
            }
        }
        w.results[i] = result;
        w.counts[i] = count;
    }

    CRAYON_DEVICE static void add_task(const Work& w, uint32_t i, uint32_t size) {
        uint32_t* counter = &w.totals->n_long;
        Task* tasks = w.long_tasks;
        if (size <= kMiddleMerge) {
            counter = size <= kShortMerge ? &w.totals->n_short : &w.totals->n_middle;
            tasks = size <= kShortMerge ? w.short_tasks : w.middle_tasks;
        }
        const uint32_t place = atomic_add(counter, 1);
        tasks[place] = {i, atomic_add(&w.totals->merged_bytes, size)};
    }

    // A document that is left to the CPU is one pretoken (JoinHostDocuments).
    CRAYON_DEVICE static bool is_host_document(const Work& w, uint32_t at) {
        return w.totals->any_host_document != 0 && has_bit(w.documents, at) && w.is_host[document_of(w, at)] != 0;
    }
};

}  // namespace gpu
}  // namespace crayon
