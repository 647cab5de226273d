// Building the merge tables that a cartridge holds: merge_products, pair_table and pair_filter; and verifying a table
// of them.
#pragma once

#include <cstdint>
#include <vector>

#include "bpe/merge.h"
#include "crayon/cartridge/cartridge.h"

namespace crayon {

class MergeTablesBuilder {
  public:
    // Room for that many merges.
    explicit MergeTablesBuilder(size_t merges) {
        // At most 60% full, so that a probe ends soon.
        uint32_t log2 = 4;
        while ((size_t(1) << log2) * 6 < merges * 10) ++log2;
        slots.assign(size_t(1) << log2, kEmptyPair);
        shift = 64 - log2;
        // One bit in eight set, at most.
        uint32_t filter_log2 = 6;
        while ((size_t(1) << filter_log2) < merges * 8) ++filter_log2;
        filter.assign((size_t(1) << filter_log2) / 64, 0);
        filter_shift = 64 - filter_log2;
    }

    // In rank order. Of equal pairs the last counts, as in the reference. Error(unsupported) for merges that were made
    // to collide.
    void add(uint32_t left, uint32_t right, uint32_t product);

    std::vector<uint32_t> products;
    std::vector<uint64_t> slots, filter;
    uint32_t shift = 0, filter_shift = 0;
};

// Which merges reachable_slots has, by rank, where it is not empty. Error(cartridge) unless they are merges of
// pair_table, each where the search finds it.
std::vector<bool> verify_reachable_slots(const Cartridge& cartridge, const MergeTables& tables);

}  // namespace crayon
