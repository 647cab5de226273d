#include "encode/merger/reachable_merges.h"

#include <algorithm>
#include <utility>

namespace crayon {
namespace {

constexpr size_t kPairsToPilot = 4;
constexpr uint32_t kPilots = 1u << 16;  // number of values of a pilot
constexpr size_t kMostPairsToPilot = 64;

uint64_t key_of(uint64_t slot) {
    return slot >> kRankBits;
}

class Builder {
  public:
    explicit Builder(const std::vector<uint64_t>& pairs) {
        uint32_t slot_bits = 4, pilot_bits = 1;
        // At most 98% full.
        while ((size_t(1) << slot_bits) < pairs.size() + pairs.size() / 50) ++slot_bits;
        while ((kPairsToPilot << pilot_bits) < pairs.size()) ++pilot_bits;
        out_.slots.assign(size_t(1) << slot_bits, kEmptyPair);
        out_.pilots.assign(size_t(1) << pilot_bits, 0);
        slot_shift_ = 32 - slot_bits;
        // The pairs of pilot p are by_pilot_[begin_[p]] to by_pilot_[begin_[p + 1]].
        const uint32_t shift = 64 - pilot_bits;
        begin_.assign(out_.pilots.size() + 1, 0);
        for (const uint64_t pair : pairs) ++begin_[key_hash(key_of(pair)) >> shift];
        uint32_t total = 0;
        for (uint32_t& begin : begin_) total += std::exchange(begin, total);
        by_pilot_.resize(pairs.size());
        std::vector<uint32_t> next(begin_);
        for (const uint64_t pair : pairs) by_pilot_[next[key_hash(key_of(pair)) >> shift]++] = pair;
    }

    // Chooses the pilots with the most pairs first, while the table has free slots.
    ReachableMerges build() {
        if (out_.slots.size() > size_t(1) << kRankBits) return {};
        std::vector<uint32_t> order(out_.pilots.size());
        for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return size(a) > size(b); });
        for (const uint32_t pilot : order)
            if (size(pilot) > kMostPairsToPilot || !place(pilot)) return {};
        return std::move(out_);
    }

  private:
    uint32_t size(uint32_t pilot) const { return begin_[pilot + 1] - begin_[pilot]; }

    bool place(uint32_t pilot) {
        uint32_t homes[kMostPairsToPilot];
        const uint32_t n = size(pilot);
        const uint64_t* const pairs = by_pilot_.data() + begin_[pilot];
        for (uint32_t value = 0; value < kPilots; ++value) {
            uint32_t i = 0;
            for (; i < n; ++i) {
                homes[i] = reachable_slot(key_hash(key_of(pairs[i])), value, slot_shift_);
                if (out_.slots[homes[i]] != kEmptyPair || std::find(homes, homes + i, homes[i]) != homes + i) break;
            }
            if (i < n) continue;
            for (i = 0; i < n; ++i) out_.slots[homes[i]] = pairs[i];
            out_.pilots[pilot] = uint16_t(value);
            return true;
        }
        return false;
    }

    ReachableMerges out_;
    uint32_t slot_shift_;
    std::vector<uint32_t> begin_;
    std::vector<uint64_t> by_pilot_;
};

}  // namespace

std::vector<uint32_t> reachable_ranks(const MergeTables& tables, const std::vector<std::string_view>& tokens,
                                      const std::vector<uint32_t>& last) {
    std::vector<uint32_t> ranks;
    for (uint32_t id = 0; id < tokens.size(); ++id)
        if (last[id] != kNoRank && tables.products[last[id]] == id) ranks.push_back(last[id]);
    for (uint64_t i = 0; i <= tables.slot_mask; ++i) {
        const uint64_t slot = tables.slots[i];
        if (slot != kEmptyPair && tokens[tables.products[slot & kMaxMerges]].size() > kLongestTraced)
            ranks.push_back(uint32_t(slot & kMaxMerges));
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::vector<uint32_t> reachable_ranks(const MergeTables& tables, const std::vector<std::string_view>& tokens) {
    std::vector<uint32_t> last(tokens.size(), kNoRank);
    Merger merger;
    uint32_t ids[kLongestTraced];
    for (size_t id = 0; id < tokens.size(); ++id)
        if (!tokens[id].empty() && tokens[id].size() <= kLongestTraced &&
            merger.merge_whole(ByteSymbols{tables, tokens[id]}, ids) == 1)
            last[id] = merger.last_rank();
    return reachable_ranks(tables, tokens, last);
}

ReachableMerges build_reachable_merges(const MergeTables& tables, const std::vector<uint32_t>& ranks) {
    if (ranks.empty()) return {};
    std::vector<bool> is_live(tables.n_merges);
    for (const uint32_t rank : ranks) is_live[rank] = true;
    std::vector<uint64_t> pairs;
    pairs.reserve(ranks.size());
    for (uint64_t i = 0; i <= tables.slot_mask; ++i) {
        const uint64_t slot = tables.slots[i];
        if (slot != kEmptyPair && is_live[slot & kMaxMerges]) pairs.push_back(slot);
    }
    return Builder(pairs).build();
}

ReachableMerges build_reachable_merges(const std::vector<uint64_t>& slots) {
    std::vector<uint64_t> pairs;
    pairs.reserve(slots.size());
    for (const uint64_t slot : slots)
        if (slot != kEmptyPair) pairs.push_back(slot);
    return pairs.empty() ? ReachableMerges() : Builder(pairs).build();
}

}  // namespace crayon
