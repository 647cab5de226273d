// Merging many short pretokens together: several at a time, a step of each in turn, so that one does not wait for
// another's memory, and without branches on what the tables say. A lone pretoken gains little.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bpe/word_table.h"

namespace crayon {

struct MergeTables;

struct MergeTask {
    static constexpr size_t kRoom = 16;

    WordKey word;   // 1 to 15 bytes
    uint32_t* out;  // room for kRoom ids
    size_t count;   // set: of ids; what is behind them in `out` means nothing
};

// Each way gives what merge_short gives.
using MergeBatch = void (*)(const MergeTables& tables, MergeTask* tasks, size_t n);
void merge_batch_scalar(const MergeTables& tables, MergeTask* tasks, size_t n);
// These need MergeTables::reachable_slots.
void merge_batch_avx2(const MergeTables& tables, MergeTask* tasks, size_t n);
void merge_batch_avx512(const MergeTables& tables, MergeTask* tasks, size_t n);

}  // namespace crayon
