// All kernels, in the order in which a partition runs them.
//
// Each kernel runs in its partition's stream, with K::kThreads threads per block, K::blocks blocks and K::Shared as
// static shared memory. The comment of each kernel says what a thread or a block works on.
//
// The table has bytes of shared memory per block and registers per thread, from `make gpu`. No kernel uses local
// memory. The last column has the warps that fit a processor of sm_90, which holds up to 64.
//
// | kernel                     | threads shared | sm_75 sm_80 sm_90 sm_100 sm_120 gfx90a gfx1030 | warps |
// | MarkDocuments              |     256      0 |    12    14    14     14     14      5       5 |    64 |
// | FindAdded                  |     256      0 |    17    20    25     22     24     14      13 |    64 |
// | DescribeChunks             |     256      0 |    47    48    56     40     44     40      34 |    32 |
// | JoinSets                   |     256      0 |    20    25    28     31     32      8       7 |    64 |
// | JoinDigits                 |     256    256 |    16    19    19     21     21      8       8 |    64 |
// | ScanDigitTiles             |    1024   1024 |    18    19    19     24     24     11      11 |    64 |
// | SpreadDigits               |     256    256 |    19    23    23     23     25     11      11 |    64 |
// | FindBoundaries<whole>      |     256      0 |    12    12    12     10     10      6       5 |    64 |
// | FindBoundaries<gpt2>       |     256      0 |    50    52    50     48     48     56      61 |    32 |
// | FindBoundaries<cl100k>     |     256      0 |    56    54    53     50     48     71      73 |    32 |
// | FindBoundaries<llama3>     |     256      0 |    56    54    53     50     48     71      73 |    32 |
// | FindBoundaries<qwen2>      |     256      0 |    52    54    56     50     48     62      66 |    32 |
// | FindBoundaries<o200k>      |     256      0 |    62    64    60     54     56     78      85 |    32 |
// | FindBoundaries<tekken>     |     256      0 |    62    62    64     53     56     73      80 |    32 |
// | JoinAdded                  |     256      0 |    22    22    25     24     24     16      17 |    64 |
// | MatchTiles                 |     256   8192 |    28    28    28     29     29     16      17 |    64 |
// | JoinMatchTiles             |     256   4096 |    26    28    28     17     18     11      12 |    64 |
// | EnterMatchGroups           |      32      0 |    24    24    30     28     22      4       4 |    32 |
// | EnterMatchTiles            |      32      0 |    24    24    26     24     24     10      12 |    32 |
// | MarkMatches                |     128   8704 |    44    32    40     21     22     59      44 |    48 |
// | JoinHostDocuments          |     256      0 |    18    18    20     22     20     14      14 |    64 |
// | CountTiles<BoundaryCounts> |     256     32 |    20    18    22     20     20     10      11 |    64 |
// | ScanTiles<BoundaryCounts>  |    1024    128 |    22    21    24     22     23     18      18 |    64 |
// | ListPretokens              |     256     32 |    24    23    24     24     26     24      24 |    64 |
// | LookUpWords                |     256      0 |    35    32    37     40     38     26      24 |    48 |
// | MergeByThreads<16>         |     128  16384 |    37    32    40     40     40     34      24 |    48 |
// | MergeByThreads<32>         |      64  16384 |    37    32    40     40     40     34      24 |    26 |
// | MergeInShared              |      64  24576 |    38    32    40     40     40     48      33 |    18 |
// | PlaceHostIds               |     256      0 |    16    16    16     16     16      8       8 |    64 |
// | KeepMerged                 |     256      0 |    28    27    28     29     26     16      16 |    64 |
// | RepeatIds                  |     256      0 |    10    12    14     16     16      8       8 |    64 |
// | CountTiles<IdCounts>       |     256     32 |    18    18    22     20     20     10      11 |    64 |
// | ScanTiles<IdCounts>        |    1024    128 |    23    23    24     23     23     18      18 |    64 |
// | WriteIds                   |     256     36 |    30    32    32     32     36     28      27 |    64 |
// | WriteSplits                |     256      0 |    26    30    32     32     36     10       8 |    64 |
#pragma once

#include "boundaries.h"
#include "output.h"

namespace crayon {
namespace gpu {

#define CRAYON_KERNELS(X)                                \
    X(mark_documents, MarkDocuments)                     \
    X(find_added, FindAdded)                             \
    X(describe_chunks, DescribeChunks)                   \
    X(join_sets, JoinSets)                               \
    X(join_digits, JoinDigits)                           \
    X(scan_digit_tiles, ScanDigitTiles)                  \
    X(spread_digits, SpreadDigits)                       \
    X(boundaries_whole, FindBoundaries<Family::whole>)   \
    X(boundaries_gpt2, FindBoundaries<Family::gpt2>)     \
    X(boundaries_cl100k, FindBoundaries<Family::cl100k>) \
    X(boundaries_llama3, FindBoundaries<Family::llama3>) \
    X(boundaries_qwen2, FindBoundaries<Family::qwen2>)   \
    X(boundaries_o200k, FindBoundaries<Family::o200k>)   \
    X(boundaries_tekken, FindBoundaries<Family::tekken>) \
    X(join_added, JoinAdded)                             \
    X(match_tiles, MatchTiles)                           \
    X(join_match_tiles, JoinMatchTiles)                  \
    X(enter_match_groups, EnterMatchGroups)              \
    X(enter_match_tiles, EnterMatchTiles)                \
    X(mark_matches, MarkMatches)                         \
    X(join_host_documents, JoinHostDocuments)            \
    X(count_boundaries, CountTiles<BoundaryCounts>)      \
    X(scan_boundary_tiles, ScanTiles<BoundaryCounts>)    \
    X(list_pretokens, ListPretokens)                     \
    X(look_up_words, LookUpWords)                        \
    X(merge_short, MergeByThreads<kShortMerge>)          \
    X(merge_middle, MergeByThreads<kMiddleMerge>)        \
    X(merge_long, MergeInShared)                         \
    X(place_host_ids, PlaceHostIds)                      \
    X(keep_merged, KeepMerged)                           \
    X(repeat_ids, RepeatIds)                             \
    X(count_ids, CountTiles<IdCounts>)                   \
    X(scan_id_tiles, ScanTiles<IdCounts>)                \
    X(write_ids, WriteIds)                               \
    X(write_splits, WriteSplits)

enum class Kernel : uint32_t {
#define CRAYON_NAME(name, type) name,
    CRAYON_KERNELS(CRAYON_NAME)
#undef CRAYON_NAME
};

#define CRAYON_ONE(...) +1
constexpr uint32_t kKernels = 0 CRAYON_KERNELS(CRAYON_ONE);
#undef CRAYON_ONE

constexpr Kernel boundaries_kernel(Family family) {
    return Kernel(uint32_t(Kernel::boundaries_whole) + uint32_t(family));
}
static_assert(boundaries_kernel(Family::tekken) == Kernel::boundaries_tekken, "in the order of families");

inline uint32_t boundaries_blocks(Family family, const Work& work) {
    // For Family::whole a thread works on a word of the bitmap, for all others on a chunk.
    return family == Family::whole ? FindBoundaries<Family::whole>::blocks(work)
                                   : FindBoundaries<Family::gpt2>::blocks(work);
}

}  // namespace gpu
}  // namespace crayon
