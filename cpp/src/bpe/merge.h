// Byte-pair merging of one pretoken: applies merges in rank order, leftmost first among equals, as `tokenizers` and
// `tiktoken` do. (R. Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016.)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bpe/merge_batch.h"
#include "bpe/rank_set.h"
#include "crayon/cartridge/cartridge.h"
#include "crayon/simd/kernels.h"

namespace crayon {

// The merge tables of a vocabulary, used in place.
struct MergeTables {
    const uint32_t* byte_ids = nullptr;
    const uint32_t* byte_pair_ranks = nullptr;
    const uint32_t* products = nullptr;
    const uint32_t* token_offsets = nullptr;  // only for Merger::merge
    const uint64_t* filter = nullptr;
    uint32_t filter_shift = 0;
    const uint64_t* slots = nullptr;
    uint64_t slot_mask = 0;
    uint32_t slot_shift = 0;
    uint32_t n_merges = 0;
    // The merges that can happen (reachable_merges.h); null without such a table.
    const uint16_t* reachable_pilots = nullptr;
    const uint64_t* reachable_slots = nullptr;
    uint32_t reachable_pilot_shift = 0, reachable_slot_shift = 0;
    MergeBatch batch = merge_batch_scalar;

    bool has_reachable() const { return reachable_slots != nullptr; }
    // The only slot of reachable_slots that can have the pair.
    uint32_t reachable_place(uint64_t key) const {
        const uint64_t hash = key_hash(key);
        return reachable_slot(hash, reachable_pilots[hash >> reachable_pilot_shift], reachable_slot_shift);
    }
    // Does what rank() does, for reachable merges only, without a branch that is hard to predict.
    uint32_t reachable_rank(uint32_t left, uint32_t right) const {
        const uint64_t key = pair_key(left, right), slot = reachable_slots[reachable_place(key)];
        return uint32_t(slot & kMaxMerges) | (uint32_t(slot >> kRankBits == key) - 1);
    }

    static MergeTables of(const Cartridge& cartridge);
    void choose_batch(const Kernels& kernels);

    uint64_t filter_bit(uint32_t left, uint32_t right) const { return pair_hash(pair_key(left, right), filter_shift); }

    // Returns the rank of merging two neighbours, or kNoRank if they never merge.
    uint32_t rank(uint32_t left, uint32_t right) const {
        const uint64_t key = pair_key(left, right);
        // Most pairs never merge. The filter recognizes most of these, from a nearer cache than the table's.
        const uint64_t bit = filter_bit(left, right);
        if (!(filter[bit >> 6] >> (bit & 63) & 1)) return kNoRank;
        for (uint64_t i = pair_hash(key, slot_shift);; i = (i + 1) & slot_mask) {
            const uint64_t slot = slots[i];
            if (slot >> kRankBits == key) return uint32_t(slot & kMaxMerges);
            if (slot == kEmptyPair) return kNoRank;
        }
    }
};

// Working memory of merging. One thread at a time may use it.
class Merger {
  public:
    // Writes the ids of `bytes` (at least one byte) to `out`, which needs room for one id per byte. Returns their
    // number. Merges long pretokens in windows, so memory is small and the time per byte constant.
    size_t merge(const MergeTables& tables, Bytes bytes, uint32_t* out);

    // Does what merge() does, without windows: by short arrays or by sweeps.
    size_t merge_whole(const MergeTables& tables, Bytes bytes, uint32_t* out);

    // The single algorithms, for tests, which compare each with textbook merging.
    size_t merge_short(const MergeTables& tables, Bytes bytes, uint32_t* out);
    size_t merge_live(const MergeTables& tables, Bytes bytes, uint32_t* out);  // if tables.has_reachable()
    size_t merge_sweeps(const MergeTables& tables, Bytes bytes, uint32_t* out);
    size_t merge_heap(const MergeTables& tables, Bytes bytes, uint32_t* out);

    // Merges symbols instead of bytes, more than kShort of them. `starts` gets the index of each id's first symbol.
    // Needs neither token_offsets nor a table over bytes.
    size_t merge_symbols(const MergeTables& tables, const uint32_t* symbols, size_t n, uint32_t* out, uint32_t* starts);

    static constexpr size_t kShort = 64;     // longest pretoken for merge_short
    static constexpr size_t kLive = 32;      // longest pretoken for merge_live
    static constexpr size_t kWindow = 4096;  // bytes merged at once in a long pretoken
    static constexpr size_t kOverlap = 256;  // bytes that the next window repeats
    void trim();
    size_t bytes() const;

  private:
    static constexpr uint32_t kNone = 0xFFFFFFFFu;

    void start(const MergeTables& tables, Bytes bytes);
    size_t finish(uint32_t* out) const;
    bool sweep(const MergeTables& tables);
    size_t merge_window(const MergeTables& tables, const uint32_t* symbols, size_t n, uint32_t* out, uint32_t* starts);
    void heap(const MergeTables& tables);
    void apply(const MergeTables& tables, uint32_t at);

    // The pretoken as a doubly linked list over positions, with the rank of each position's pair with its successor.
    std::vector<uint32_t> symbol_, next_, previous_, rank_;
    // For the sweeps: linked lists of the positions that wait at each rank.
    struct Node {
        uint32_t position, next;
    };
    std::vector<uint32_t> waiting_;  // per rank, kNone if empty; all kNone between calls
    std::vector<Node> nodes_;
    RankSet ranks_;  // ranks with a waiting position; empty between calls
    std::vector<uint32_t> batch_;
    std::vector<uint64_t> queue_;
    std::vector<uint32_t> window_, window_starts_;
};

}  // namespace crayon
