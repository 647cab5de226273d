#include "encode/merger/merge_batch.h"

#include "encode/merger/merge.h"

namespace crayon {

void merge_batch_scalar(const MergeTables& tables, MergeTask* tasks, size_t n) {
    Merger merger;
    for (size_t i = 0; i < n; ++i) {
        MergeTask& task = tasks[i];
        task.count = merger.merge_whole(ByteSymbols{tables, Bytes(task.bytes, task.size)}, task.out);
    }
}

}  // namespace crayon
