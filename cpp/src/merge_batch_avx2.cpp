// Sixteen lanes, one for each byte of a pretoken. Lane i holds the rank of the pair that begins at byte i, with i below
// it, so that the least of all lanes is the next merge; all ones where there is none.
#include "merge.h"
#include "merge_batch.h"
#include "scan_kernels.h"

#if CRAYON_X86_64

#include <immintrin.h>

namespace crayon {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;
constexpr size_t kTogether = 4;
constexpr uint32_t kNoToken = kMaxIds;  // no pair has it

struct Word {
    __m256i low, high;  // the lanes
    uint32_t begins;    // a bit for each byte where a token begins, and one for the end
    uint32_t size;
    uint32_t ids[1 + 17];  // of the tokens, from 1 on; around them what is none
    MergeTask* task;
};

inline __m256i lane_numbers(int from) {
    return _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(from));
}

// The lane of a pair that begins at `place`.
inline uint32_t lane_of(const MergeTables& t, uint32_t left, uint32_t right, uint32_t place) {
    const uint64_t key = pair_key(left, right), slot = t.live_slots[t.live_place(key)];
    uint32_t missing = uint32_t(slot >> kRankBits == key) - 1;
#if defined(__GNUC__)
    asm("" : "+r"(missing));  // else it becomes a branch, which is taken as often as not
#endif
    return (uint32_t(slot & kMaxMerges) << 4 | place) | missing;
}

inline __m256i first_lanes(const MergeTables& t, __m128i bytes, __m128i next, int from, int pairs) {
    const __m256i left = _mm256_cvtepu8_epi32(bytes), right = _mm256_cvtepu8_epi32(next), numbers = lane_numbers(from);
    const __m256i inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(pairs), numbers);
    const __m256i ranks =
        _mm256_mask_i32gather_epi32(_mm256_set1_epi32(-1), reinterpret_cast<const int*>(t.byte_pair_ranks),
                                    _mm256_or_si256(_mm256_slli_epi32(left, 8), right), inside, 4);
    const __m256i none = _mm256_cmpeq_epi32(ranks, _mm256_set1_epi32(-1));
    return _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi32(ranks, 4), numbers), none);
}

inline void start(const MergeTables& t, MergeTask* task, Word* w) {
    const __m128i bytes = _mm_set_epi64x(int64_t(task->word.hi), int64_t(task->word.lo));
    const __m128i next = _mm_srli_si128(bytes, 1);
    w->task = task;
    w->size = uint32_t(task->word.hi >> 56);
    w->begins = (2u << w->size) - 1;
    w->low = first_lanes(t, bytes, next, 0, int(w->size) - 1);
    w->high = first_lanes(t, _mm_srli_si128(bytes, 8), _mm_srli_si128(next, 8), 8, int(w->size) - 1);
    const int* const byte_ids = reinterpret_cast<const int*>(t.byte_ids);
    w->ids[0] = kNoToken;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(w->ids + 1),
                        _mm256_i32gather_epi32(byte_ids, _mm256_cvtepu8_epi32(bytes), 4));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(w->ids + 9),
                        _mm256_i32gather_epi32(byte_ids, _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)), 4));
    w->ids[1 + w->size] = kNoToken;
}

// One merge; false when there is none left.
inline bool step(const MergeTables& t, Word* w) {
    const __m256i eight = _mm256_min_epu32(w->low, w->high);
    __m128i four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    const uint32_t least = uint32_t(_mm_cvtsi128_si32(_mm_min_epu32(four, _mm_shuffle_epi32(four, 0xB1))));
    if (least == kNone) return false;
    const uint32_t at = least & 15, product = t.products[least >> 4];
    const uint32_t above = w->begins & ~1u << at, above_gone = above & (above - 1);
    const uint32_t gone = _tzcnt_u32(above), after = _tzcnt_u32(above_gone);
    const uint32_t before = 31 - _lzcnt_u32(w->begins & ((1u << at) - 1));  // -1 when there is none
    w->begins ^= 1u << gone;
    w->ids[1 + at] = product;
    const uint32_t here = lane_of(t, product, w->ids[1 + after], at);
    const uint32_t there = lane_of(t, w->ids[1 + before], product, before);
    const __m256i gone_lane = _mm256_set1_epi32(int(gone)), here_lane = _mm256_set1_epi32(int(at)),
                  there_lane = _mm256_set1_epi32(int(before)), here_rank = _mm256_set1_epi32(int(here)),
                  there_rank = _mm256_set1_epi32(int(there));
    const auto change = [&](__m256i lanes, __m256i numbers) {
        lanes = _mm256_or_si256(lanes, _mm256_cmpeq_epi32(numbers, gone_lane));
        lanes = _mm256_blendv_epi8(lanes, here_rank, _mm256_cmpeq_epi32(numbers, here_lane));
        return _mm256_blendv_epi8(lanes, there_rank, _mm256_cmpeq_epi32(numbers, there_lane));
    };
    w->low = change(w->low, lane_numbers(0));
    w->high = change(w->high, lane_numbers(8));
    return true;
}

// Four ids at a time, whether there are so many or not.
inline void finish(const Word& w) {
    uint32_t left = w.begins ^ 1u << w.size, n = 0;
    const uint32_t count = uint32_t(_mm_popcnt_u32(left));
    do {
        for (int i = 0; i < 4; ++i) {
            w.task->out[n++] = w.ids[1 + (_tzcnt_u32(left) & 15)];
            left &= left - 1;
        }
    } while (n < count);
    w.task->count = count;
}

}  // namespace

void merge_batch_avx2(const MergeTables& tables, MergeTask* tasks, size_t n) {
    Word words[kTogether];
    size_t next = 0, running = 0;
    while (running < kTogether && next < n) start(tables, tasks + next++, words + running++);
    while (running > 0) {
        for (size_t i = 0; i < running; ++i) {
            if (step(tables, words + i)) continue;
            finish(words[i]);
            if (next < n)
                start(tables, tasks + next++, words + i);
            else
                words[i] = words[--running];
        }
    }
}

}  // namespace crayon

#endif
