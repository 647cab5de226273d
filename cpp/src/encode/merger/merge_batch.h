// Merges many short pretokens together: one merge of each, then the next merge of each. So their memory accesses
// overlap, and no branch depends on a table. A single pretoken gains little.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/simd/kernels.h"

namespace crayon {

struct MergeTask {
    static constexpr size_t kRoom = 16;

    WordKey word;   // 1 to 15 bytes
    uint32_t* out;  // room for kRoom ids
    size_t count;   // set to the number of ids; `out` after them is undefined
};

// Implementations of MergeBatch (kernels.h), which give the ids that Merger::merge gives.
void merge_batch_scalar(const MergeTables& tables, MergeTask* tasks, size_t n);
void merge_batch_avx2(const MergeTables& tables, MergeTask* tasks, size_t n);
void merge_batch_avx512(const MergeTables& tables, MergeTask* tasks, size_t n);

}  // namespace crayon
