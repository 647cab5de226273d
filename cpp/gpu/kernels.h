// All kernels, in the order in which a partition meets them.
#pragma once

#include "boundaries.h"
#include "output.h"

namespace crayon {
namespace gpu {

#define CRAYON_KERNELS(X)                                \
    X(mark_documents, MarkDocuments)                     \
    X(find_added, FindAdded)                             \
    X(describe_chunks, DescribeChunks)                   \
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
    X(count_boundaries, CountBoundaries)                 \
    X(scan_boundary_tiles, ScanBoundaryTiles)            \
    X(list_pretokens, ListPretokens)                     \
    X(look_up_words, LookUpWords)                        \
    X(merge_short, MergeInLanes<kShortMerge>)            \
    X(merge_middle, MergeInLanes<kMiddleMerge>)          \
    X(merge_long, MergeInShared)                         \
    X(place_host_ids, PlaceHostIds)                      \
    X(count_ids, CountIds)                               \
    X(scan_id_tiles, ScanIdTiles)                        \
    X(write_ids, WriteIds)                               \
    X(write_splits, WriteSplits)

enum class Kernel : uint32_t {
#define CRAYON_NAME(name, type) name,
    CRAYON_KERNELS(CRAYON_NAME)
#undef CRAYON_NAME
};

constexpr Kernel boundaries_kernel(Family family) {
    return Kernel(uint32_t(Kernel::boundaries_whole) + uint32_t(family));
}
static_assert(boundaries_kernel(Family::tekken) == Kernel::boundaries_tekken, "in the order of families");

inline uint32_t boundaries_blocks(Family family, const Work& work) {
    // Threads have words of the bitmap, or chunks; of these all families have as many.
    return family == Family::whole ? FindBoundaries<Family::whole>::blocks(work)
                                   : FindBoundaries<Family::gpt2>::blocks(work);
}

}  // namespace gpu
}  // namespace crayon
