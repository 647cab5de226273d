// Merges many short pretokens together: one merge of each, then the next merge of each. So their memory accesses
// overlap, and no branch depends on a table. A single pretoken gains little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "crayon/simd/kernels.h"

namespace crayon {

struct MergeTask {
    static constexpr size_t kRoom = 32, kLongest = kRoom - 1;  // ids, and bytes of a pretoken

    uint8_t bytes[kRoom + 4];  // the pretoken; implementations read all of it
    uint32_t size;             // 1 to kLongest
    uint32_t* out;             // room for kRoom ids
    size_t count;              // set to the number of ids; `out` after them is undefined

    void set(const void* from, size_t n, size_t pretoken_size, uint32_t* to) {
        std::memcpy(bytes, from, n);
        size = uint32_t(pretoken_size);
        out = to;
    }
};

// Implementations of MergeBatch (kernels.h), which give the ids that Merger::merge gives. Pretokens of up to 15
// bytes come first.
void merge_batch_scalar(const MergeTables& tables, MergeTask* tasks, size_t n);
void merge_batch_avx2(const MergeTables& tables, MergeTask* tasks, size_t n);
void merge_batch_avx512(const MergeTables& tables, MergeTask* tasks, size_t n);

}  // namespace crayon
