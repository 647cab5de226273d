#include "encode/merger/merge_batch.h"

#include <cstring>

#include "encode/merger/merge.h"

namespace crayon {

void merge_batch_scalar(const MergeTables& tables, MergeTask* tasks, size_t n) {
    Merger merger;
    for (size_t i = 0; i < n; ++i) {
        uint8_t bytes[16];
        std::memcpy(bytes, &tasks[i].word, sizeof bytes);
        tasks[i].count = merger.merge_whole(ByteSymbols{tables, Bytes(bytes, bytes[15])}, tasks[i].out);
    }
}

}  // namespace crayon
