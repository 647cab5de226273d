// Byte-pair merging of one pretoken: merges are applied in rank order, leftmost first among equals (R. Sennrich et al.,
// "Neural Machine Translation of Rare Words with Subword Units", 2016, as `tokenizers` and `tiktoken` apply it).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bpe/merge_batch.h"
#include "bpe/rank_set.h"
#include "crayon/cartridge/cartridge.h"
#include "crayon/support/cpu.h"

namespace crayon {

// The merge tables of a vocabulary, used in place.
struct MergeTables {
    const uint32_t* byte_ids = nullptr;
    const uint32_t* byte_pair_ranks = nullptr;
    const uint32_t* products = nullptr;
    const uint32_t* token_offsets = nullptr;  // needed by Merger::merge alone
    const uint64_t* filter = nullptr;
    uint32_t filter_shift = 0;
    const uint64_t* slots = nullptr;
    uint64_t slot_mask = 0;
    uint32_t slot_shift = 0;
    uint32_t n_merges = 0;
    // The merges that happen (reachable_merges.h); null when there is no such table.
    const uint16_t* reachable_pilots = nullptr;
    const uint64_t* reachable_slots = nullptr;
    uint32_t reachable_pilot_shift = 0, reachable_slot_shift = 0;
    MergeBatch batch = merge_batch_scalar;

    bool has_reachable() const { return reachable_slots != nullptr; }
    // The only place in reachable_slots where the pair can be.
    uint32_t reachable_place(uint64_t key) const {
        const uint64_t hash = key_hash(key);
        return reachable_slot(hash, reachable_pilots[hash >> reachable_pilot_shift], reachable_slot_shift);
    }
    // As rank(), of the merges that happen alone; without a branch that is hard to guess.
    uint32_t reachable_rank(uint32_t left, uint32_t right) const {
        const uint64_t key = pair_key(left, right), slot = reachable_slots[reachable_place(key)];
        return uint32_t(slot & kMaxMerges) | (uint32_t(slot >> kRankBits == key) - 1);
    }

    static MergeTables of(const Cartridge& cartridge);
    void choose_batch(CpuLevel level);

    uint64_t filter_bit(uint32_t left, uint32_t right) const { return pair_hash(pair_key(left, right), filter_shift); }

    // The rank of merging two neighbours, kNoRank when they never merge.
    uint32_t rank(uint32_t left, uint32_t right) const {
        const uint64_t key = pair_key(left, right);
        // Most pairs never merge; the filter says so for most of these from a nearer cache than the table's.
        const uint64_t bit = filter_bit(left, right);
        if (!(filter[bit >> 6] >> (bit & 63) & 1)) return kNoRank;
        for (uint64_t i = pair_hash(key, slot_shift);; i = (i + 1) & slot_mask) {
            const uint64_t slot = slots[i];
            if (slot >> kRankBits == key) return uint32_t(slot & kMaxMerges);
            if (slot == kEmptyPair) return kNoRank;
        }
    }
};

// Working memory of merging; belongs to one thread at a time.
class Merger {
  public:
    // Writes the ids of `bytes` (at least one byte) to `out`, which has room for one id per byte; returns how many.
    // Long pretokens are merged in windows, which keeps memory small and the time per byte constant.
    size_t merge(const MergeTables& tables, Bytes bytes, uint32_t* out);

    // The same without windows: by short arrays or by sweeps.
    size_t merge_whole(const MergeTables& tables, Bytes bytes, uint32_t* out);

    // The ways apart, for the tests, which hold each against a plain twin.
    size_t merge_short(const MergeTables& tables, Bytes bytes, uint32_t* out);
    size_t merge_live(const MergeTables& tables, Bytes bytes, uint32_t* out);  // if tables.has_reachable()
    size_t merge_sweeps(const MergeTables& tables, Bytes bytes, uint32_t* out);
    size_t merge_heap(const MergeTables& tables, Bytes bytes, uint32_t* out);

    // Symbols instead of bytes: at least one of them. `starts` gets the index of each id's first symbol. For pretokens
    // of more than kShort symbols; needs no token_offsets and no table over bytes.
    size_t merge_symbols(const MergeTables& tables, const uint32_t* symbols, size_t n, uint32_t* out, uint32_t* starts);

    static constexpr size_t kShort = 64;     // longest pretoken that merge_short takes
    static constexpr size_t kLive = 32;      // the same for merge_live
    static constexpr size_t kWindow = 4096;  // bytes merged at once in a long pretoken
    static constexpr size_t kOverlap = 256;  // bytes that the next window takes over
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
    // For the sweeps: positions waiting at each rank, as linked nodes.
    struct Node {
        uint32_t position, next;
    };
    std::vector<uint32_t> waiting_;  // per rank, kNone when empty; all kNone between calls
    std::vector<Node> nodes_;
    RankSet ranks_;  // those with a position waiting; empty between calls
    std::vector<uint32_t> batch_;
    std::vector<uint64_t> queue_;
    std::vector<uint32_t> window_, window_starts_;
};

}  // namespace crayon
