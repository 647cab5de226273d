// Builds the merge tables of a cartridge: merge_products, pair_table and pair_filter. Also verifies a table of
// reachable merges.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "encode/merger/merge.h"

namespace crayon {

class MergeTablesBuilder {
  public:
    // Makes room for `merges` merges.
    explicit MergeTablesBuilder(size_t merges) {
        // At most 60% full, so that probes end soon.
        uint32_t log2 = 4;
        while ((size_t(1) << log2) * 6 < merges * 10) ++log2;
        slots.assign(size_t(1) << log2, kEmptyPair);
        shift = 64 - log2;
        // At most one bit in eight is set.
        uint32_t filter_log2 = 6;
        while ((size_t(1) << filter_log2) < merges * 8) ++filter_log2;
        filter.assign((size_t(1) << filter_log2) / 64, 0);
        filter_shift = 64 - filter_log2;
    }

    // Adds merges in rank order. If a pair is added twice, the last one replaces the first, as in Hugging Face
    // tokenizers. Throws Error(unsupported) for merges that were crafted to collide.
    void add(uint32_t left, uint32_t right, uint32_t product);

    std::vector<uint32_t> products;
    std::vector<uint64_t> slots, filter;
    uint32_t shift = 0, filter_shift = 0;
};

// Returns, by rank, whether the section reachable_slots has the merge. The section must not be empty. Throws
// Error(cartridge) unless all its merges are merges of pair_table, each in the slot that the search reads.
std::vector<bool> verify_reachable_slots(const Cartridge& cartridge, const MergeTables& tables);

}  // namespace crayon
