#include "compiler/merge_tables.h"

#include "crayon/support/error.h"

namespace crayon {

void MergeTablesBuilder::add(uint32_t left, uint32_t right, uint32_t product) {
    const uint64_t key = pair_key(left, right), mask = slots.size() - 1;
    uint64_t i = pair_hash(key, shift);
    size_t chain = 0;
    for (; slots[i] != kEmptyPair && slots[i] >> kRankBits != key; i = (i + 1) & mask)
        if (++chain == kLongestChain)
            throw Error(ErrorKind::unsupported, "a vocabulary whose merges were made to collide");
    const uint64_t bit = pair_hash(key, filter_shift);
    filter[bit >> 6] |= uint64_t(1) << (bit & 63);
    slots[i] = key << kRankBits | products.size();
    products.push_back(product);
}

std::vector<bool> verify_reachable_slots(const Cartridge& c, const MergeTables& tables) {
    std::vector<bool> has(tables.n_merges);
    const auto check = [](bool holds, const char* fault) {
        if (!holds) throw Error(ErrorKind::cartridge, fault);
    };
    for (uint32_t i = 0; i < c.reachable_slots.size; ++i) {
        const uint64_t slot = c.reachable_slots[i];
        if (slot == kEmptyPair) continue;
        const uint32_t rank = uint32_t(slot & kMaxMerges);
        const uint64_t key = slot >> kRankBits;
        check(tables.rank(uint32_t(key >> kIdBits), uint32_t(key) & kMaxIds) == rank,
              "section reachable_slots has a merge that is not in section pair_table");
        check(tables.reachable_place(key) == i, "section reachable_slots has a merge where a search does not find it");
        has[rank] = true;
    }
    return has;
}

}  // namespace crayon
