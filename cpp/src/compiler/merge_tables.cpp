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

}  // namespace crayon
