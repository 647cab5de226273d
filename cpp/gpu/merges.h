// Merges the pretokens that the word table lacks. One thread merges a short pretoken. A group of lanes shares the
// symbols of a long one and finds the least rank together.
//
// Example: with the merges l+o (rank 0) and lo+w (rank 1), "low" has the keys 0 << kBits | 0, none, none. The least key
// makes place 0 "lo", whose key with "w" is 1 << kBits | 0. The next merge makes "low".
#pragma once

#include "words.h"

namespace crayon {
namespace gpu {

constexpr uint32_t kNoMerge = 0xFFFFFFFFu;

// Returns the result of MergeTables::reachable_rank (merge.h) if the vocabulary has that table, else that of rank().
CRAYON_DEVICE inline uint32_t pair_rank(const Tables& t, uint32_t left, uint32_t right) {
    const uint64_t key = pair_key(left, right);
    if (t.reachable_slots != nullptr) {
        const uint64_t hash = key_hash(key);
        const uint64_t slot = t.reachable_slots[reachable_slot(
            hash, t.reachable_pilots[hash >> t.reachable_pilot_shift], t.reachable_slot_shift)];
        return slot >> kRankBits == key ? uint32_t(slot & kMaxMerges) : kNoRank;
    }
    const uint64_t bit = pair_hash(key, t.filter_shift);
    if (!(t.pair_filter[bit >> 6] >> (bit & 63) & 1)) return kNoRank;
    for (uint64_t i = pair_hash(key, t.pair_shift);; i = (i + 1) & t.pair_mask) {
        const uint64_t slot = t.pair_slots[i];
        if (slot >> kRankBits == key) return uint32_t(slot & kMaxMerges);
        if (slot == kEmptyPair) return kNoRank;
    }
}

// A number that orders merges by rank, then by the place of the left symbol, which is below 2^kBits. For kBits = 5:
//    rrrrrrrr rrrrrrrr rrrrrrrr rrr_____ rank
//    ________ ________ ________ ___ppppp place
template <uint32_t kBits>
CRAYON_DEVICE inline uint32_t merge_key(uint32_t rank, uint32_t place) {
    return rank == kNoRank ? kNoMerge : rank << kBits | place;
}

// The number of blocks for `tasks` tasks, with `each` tasks per block.
CRAYON_DEVICE inline uint32_t blocks_of_tasks(uint32_t tasks, uint32_t each) {
    return tasks / each + (tasks % each != 0);
}

// Merges pretokens of up to kWidth bytes (16 or 32). One thread per task: each round of a warp does one merge in 32
// pretokens.
template <uint32_t kWidth>
struct MergeByThreads {
    static constexpr uint32_t kThreads = 16 * 128 / kWidth, kBits = 5;
    static_assert(kMaxMerges < kNoMerge >> kBits, "a key has room for the rank and the place");
    // One column per thread, so that a warp accesses consecutive words.
    struct Shared {
        uint32_t symbols[kWidth][kThreads], keys[kWidth][kThreads];
    };

    CRAYON_DEVICE static const Task* tasks(const Work& w) {
        return kWidth == kShortMerge ? w.short_tasks : w.middle_tasks;
    }
    CRAYON_DEVICE static uint32_t count(const Work& w) {
        return kWidth == kShortMerge ? w.totals->n_short : w.totals->n_middle;
    }
    CRAYON_DEVICE static uint32_t blocks(uint32_t n_tasks) { return blocks_of_tasks(n_tasks, kThreads); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        block.each([&](uint32_t lane) {
            const uint32_t task = block.index() * kThreads + lane;
            if (task < count(w)) merge(w, tasks(w)[task], shared, lane);
        });
    }

  private:
    CRAYON_DEVICE static void merge(const Work& w, Task task, Shared& s, uint32_t lane) {
        const Tables& t = w.tables;
        const uint32_t at = w.starts[task.pretoken], n = w.starts[task.pretoken + 1] - at;
        uint32_t byte = w.text[at];
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t next = w.text[at + i + 1];  // bytes follow the last one, too
            s.symbols[i][lane] = t.byte_ids[byte];
            s.keys[i][lane] = i + 1 < n ? merge_key<kBits>(t.byte_pair_ranks[byte << 8 | next], i) : kNoMerge;
            byte = next;
        }
        uint32_t alive = ones_below(n);  // places that hold a symbol
        for (;;) {
            uint32_t least = kNoMerge;
            for (uint32_t i = 0; i < n; ++i) least = s.keys[i][lane] < least ? s.keys[i][lane] : least;
            if (least == kNoMerge) break;
            const uint32_t left = least & ((1u << kBits) - 1), product = t.products[least >> kBits];
            const uint32_t gone = lowest_one(alive & ~ones_below(left + 1));
            alive &= ~(uint32_t(1) << gone);
            s.symbols[left][lane] = product;
            s.keys[gone][lane] = kNoMerge;
            const uint32_t behind = alive & ~ones_below(left + 1), before = alive & ones_below(left);
            const uint32_t next = behind != 0 ? lowest_one(behind) : left;
            const uint32_t previous = before != 0 ? highest_one(before) : left;
            // Looks both ranks up before using either.
            const uint32_t with_next = pair_rank(t, product, s.symbols[next][lane]);
            const uint32_t with_previous = pair_rank(t, s.symbols[previous][lane], product);
            s.keys[left][lane] = behind != 0 ? merge_key<kBits>(with_next, left) : kNoMerge;
            if (before != 0) s.keys[previous][lane] = merge_key<kBits>(with_previous, previous);
        }
        uint32_t* to = w.merged + task.at;
        for (uint32_t left = alive; left != 0; left &= left - 1) *to++ = s.symbols[lowest_one(left)][lane];
        w.counts[task.pretoken] = count_bits(alive) | Count::kMerged;
        w.results[task.pretoken] = task.at;
    }
};

// Merges pretokens of up to kLongMerge bytes, with symbols in shared memory. Each lane of a group of 32 has every 32nd
// symbol. One group per task.
struct MergeInShared {
    static constexpr uint32_t kWidth = Group::kWidth, kGroups = 2, kThreads = kGroups * kWidth, kBits = 10;
    static_assert(kMaxMerges <= kNoMerge >> kBits, "a key has room for the rank and the place");
    static_assert(kLongMerge == 1u << kBits, "each place has a number");
    struct Symbols {
        uint32_t ids[kLongMerge], keys[kLongMerge];
        uint16_t next[kLongMerge], previous[kLongMerge];
    };
    struct Shared {
        Symbols of_group[kGroups];
    };

    CRAYON_DEVICE static uint32_t count(const Work& w) { return w.totals->n_long; }
    CRAYON_DEVICE static uint32_t blocks(uint32_t n_tasks) { return blocks_of_tasks(n_tasks, kGroups); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        block.groups([&](const Group& group, uint32_t index) {
            const uint32_t task = block.index() * kGroups + index;
            if (task < count(w)) merge(group, w, w.long_tasks[task], shared.of_group[index]);
        });
    }

  private:
    CRAYON_DEVICE static void merge(const Group& group, const Work& w, Task task, Symbols& s) {
        const Tables& t = w.tables;
        const uint32_t at = w.starts[task.pretoken], n = w.starts[task.pretoken + 1] - at;
        PerLane<uint32_t, kWidth> least;  // the least key of each lane's symbols
        const auto find_least = [&](uint32_t lane) {
            least[lane] = kNoMerge;
            for (uint32_t i = lane; i < n; i += kWidth) least[lane] = s.keys[i] < least[lane] ? s.keys[i] : least[lane];
        };
        group.each([&](uint32_t lane) {
            for (uint32_t i = lane; i < n; i += kWidth) {
                s.ids[i] = t.byte_ids[w.text[at + i]];
                s.next[i] = uint16_t(i + 1);
                s.previous[i] = uint16_t(i - 1);
                s.keys[i] = i + 1 < n ? merge_key<kBits>(t.byte_pair_ranks[w.text[at + i] << 8 | w.text[at + i + 1]], i)
                                      : kNoMerge;
            }
            find_least(lane);
        });
        for (;;) {
            const uint32_t key = group.least(least);
            if (key == kNoMerge) break;
            const uint32_t left = key & (kLongMerge - 1), product = t.products[key >> kBits];
            const uint32_t gone = s.next[left], next = s.next[gone], previous = s.previous[left];
            // Waits until all lanes have finished reading. Then each lane writes one symbol's change; `left` is the
            // lane of the left symbol.
            group.each([](uint32_t) {});
            group.each([&](uint32_t lane) {
                if (lane == 0) {
                    s.ids[left] = product;
                    s.next[left] = uint16_t(next);
                    if (next < n) s.previous[next] = uint16_t(left);
                    if (next >= n) s.keys[left] = kNoMerge;
                    s.keys[gone] = kNoMerge;
                }
                const bool is_left = lane == 0 && next < n, is_previous = lane == 1 && left > 0;
                if (is_left || is_previous) {
                    const uint32_t other = s.ids[is_left ? next : previous];
                    const uint32_t rank = pair_rank(t, is_left ? product : other, is_left ? other : product);
                    const uint32_t place = is_left ? left : previous;
                    s.keys[place] = merge_key<kBits>(rank, place);
                }
            });
            group.each([&](uint32_t lane) {
                if (lane == left % kWidth || lane == gone % kWidth || (left > 0 && lane == previous % kWidth))
                    find_least(lane);
            });
        }
        group.each([&](uint32_t lane) {
            if (lane != 0) return;
            uint32_t count = 0;
            for (uint32_t i = 0; i < n; i = s.next[i]) w.merged[task.at + count++] = s.ids[i];
            w.counts[task.pretoken] = count | Count::kMerged;
            w.results[task.pretoken] = task.at;
        });
    }
};

// Sets Work::results and Work::counts for pretokens that the CPU encoded: the place of their ids in Work::merged, and
// the number. One thread per task.
struct PlaceHostIds {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.n_placed + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t i = block.index() * kThreads + lane;
            if (i >= w.n_placed) return;
            const uint32_t pretoken = w.placed[i].pretoken;
            w.results[pretoken] = w.placed[i].at;
            w.counts[pretoken] = (w.placed[i + 1].at - w.placed[i].at) | Count::kMerged;
        });
    }
};

}  // namespace gpu
}  // namespace crayon
