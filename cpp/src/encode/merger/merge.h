// Byte-pair merging of one pretoken: applies merges in rank order, leftmost first among equals, as `tokenizers` and
// `tiktoken` do. (R. Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/simd/kernels.h"
#include "encode/merger/merge_batch.h"

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

class Dropout;

// An input of Merger: bytes (or symbols, below), and the rank of each one's pair with its successor.
struct ByteSymbols {
    const MergeTables& tables;
    Bytes bytes;

    size_t size() const { return bytes.size; }
    uint32_t symbol(size_t i) const { return tables.byte_ids[bytes[i]]; }
    uint32_t rank(size_t i) const { return tables.byte_pair_ranks[bytes[i] << 8 | bytes[i + 1]]; }
    ByteSymbols slice(size_t from, size_t to) const { return {tables, bytes.slice(from, to)}; }
    bool operator==(const ByteSymbols& other) const { return bytes.view() == other.bytes.view(); }
};
struct Symbols {
    const MergeTables& tables;
    const uint32_t* ids;
    size_t n;

    size_t size() const { return n; }
    uint32_t symbol(size_t i) const { return ids[i]; }
    uint32_t rank(size_t i) const { return tables.rank(ids[i], ids[i + 1]); }
    Symbols slice(size_t from, size_t to) const { return {tables, ids + from, to - from}; }
    bool operator==(const Symbols& other) const { return std::equal(ids, ids + n, other.ids, other.ids + other.n); }
};

// Working memory of merging. One thread at a time may use it.
class Merger {
  public:
    // Writes the ids of `bytes` (at least one byte) to `out`, which needs room for one id per byte. Returns their
    // number. Merges long pretokens in windows, so memory is small and the time per byte constant.
    size_t merge(const MergeTables& tables, Bytes bytes, uint32_t* out);
    // Merges symbols instead of bytes. `sizes` gets the number of symbols of each id. Needs neither token_offsets nor a
    // table over bytes.
    size_t merge(const MergeTables& tables, const uint32_t* symbols, size_t n, uint32_t* out, uint32_t* sizes);

    // Does what merge() does, without windows. `sizes` may be null.
    template <typename Input>
    size_t merge_whole(const Input& in, uint32_t* out, uint32_t* sizes = nullptr);
    // Does what merge_whole() does, by a heap and for any number of symbols. With `dropout`, it skips merges at random.
    template <typename Input>
    size_t merge_heap(const Input& in, uint32_t* out, uint32_t* sizes = nullptr, Dropout* dropout = nullptr);

    // The rank of the last merge of merge_whole or merge_heap, or kNoRank if nothing merged.
    uint32_t last_rank() const { return last_; }

    static constexpr size_t kWhole = 32;   // symbols that merge() merges without windows
    static constexpr size_t kWindow = 32;  // symbols merged at once, at first
    static constexpr size_t kOverlap = 4;  // symbols that the next window repeats, at first
    void trim();
    size_t bytes() const;

  private:
    // A doubly linked list over positions, with the rank of each position's pair with its successor.
    struct Node {
        uint32_t symbol, next, previous, rank;
    };

    template <typename Input, typename SizeOf>
    size_t merge_windows(const Input& in, SizeOf size_of, uint32_t* out, uint32_t* sizes);
    void push(uint64_t entry);
    uint64_t pop();
    void run_heap(const MergeTables& tables, Dropout* dropout);

    std::vector<Node> nodes_;
    std::vector<uint64_t> queue_, skipped_;  // rank << 32 | position
    std::vector<uint32_t> window_, window_sizes_;
    uint32_t last_ = kNoRank;
};

}  // namespace crayon
