// What is known of the pretokens of one block on their way to ids.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpe/merge_batch.h"
#include "bpe/word_table.h"

namespace crayon {

template <size_t kBlock>
struct WordBlock {
    static constexpr size_t kRecent = 256;

    alignas(16) WordKey keys[kBlock];
    uint32_t buckets[kBlock];          // of the cache
    const WordEntry* entries[kBlock];  // in the cache, or in `made`
    uint32_t missed[kBlock];           // indexes of those that the cache did not have
    uint64_t hashes[kBlock];           // of the missed: the word table's, then the ring's
    uint32_t longs[kBlock];            // of the missed, those of more than kWordKeyBytes
    uint32_t waiting[kBlock];          // of the missed, those that are merged
    const MergeTask* task[kBlock];     // of those of the waiting that go into the ring: what made them
    // Entries for the missed. What an earlier block left here is as true as ever: a word that is missed twice in short
    // succession is made once.
    WordEntry made[kBlock] = {};
    uint16_t recent[kRecent] = {};  // by hash: one of `made`
};

}  // namespace crayon
