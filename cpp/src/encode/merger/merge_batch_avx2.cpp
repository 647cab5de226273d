// Merges pretokens together with AVX2: sixteen lanes in two registers.
#include "encode/merger/merge.h"
#include "encode/merger/merge_batch.h"
#include "support/target.h"

#if CRAYON_X86_64

#include "encode/merger/merge_lanes.h"

namespace crayon {
namespace {

class Lanes {
  public:
    static constexpr size_t kTogether = 8;

    Lanes() = default;
    Lanes(const MergeTables& t, __m128i bytes, uint32_t pairs)
        : low_(first_lanes(t, bytes, 0, pairs)), high_(first_lanes(t, bytes, 8, pairs)) {}

    uint32_t least() const {
        const __m256i eight = _mm256_min_epu32(low_, high_);
        __m128i four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
        four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4E));
        return uint32_t(_mm_cvtsi128_si32(_mm_min_epu32(four, _mm_shuffle_epi32(four, 0xB1))));
    }

    void change(uint32_t gone, uint32_t here, uint32_t here_rank, uint32_t there, uint32_t there_rank) {
        const __m256i gone_lane = _mm256_set1_epi32(int(gone)), here_lane = _mm256_set1_epi32(int(here)),
                      there_lane = _mm256_set1_epi32(int(there)), at_here = _mm256_set1_epi32(int(here_rank)),
                      at_there = _mm256_set1_epi32(int(there_rank));
        const auto changed = [&](__m256i lanes, __m256i numbers) {
            lanes = _mm256_or_si256(lanes, _mm256_cmpeq_epi32(numbers, gone_lane));
            lanes = _mm256_blendv_epi8(lanes, at_here, _mm256_cmpeq_epi32(numbers, here_lane));
            return _mm256_blendv_epi8(lanes, at_there, _mm256_cmpeq_epi32(numbers, there_lane));
        };
        low_ = changed(low_, numbers(0));
        high_ = changed(high_, numbers(8));
    }

    static void load_ids(const MergeTables& t, __m128i bytes, uint32_t* ids) {
        const int* const byte_ids = reinterpret_cast<const int*>(t.byte_ids);
        for (const int from : {0, 8}) {
            const __m256i eight = _mm256_cvtepu8_epi32(from == 0 ? bytes : _mm_srli_si128(bytes, 8));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(ids + from), _mm256_i32gather_epi32(byte_ids, eight, 4));
        }
    }

    // Always writes four ids at a time, also beyond the last one.
    static void write_ids(const uint32_t* ids, uint32_t which, uint32_t* out) {
        const uint32_t count = uint32_t(_mm_popcnt_u32(which));
        uint32_t n = 0;
        do {
            for (int i = 0; i < 4; ++i) {
                out[n++] = ids[_tzcnt_u32(which) & 15];
                which &= which - 1;
            }
        } while (n < count);
    }

  private:
    static __m256i numbers(int from) {
        return _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(from));
    }
    static __m256i first_lanes(const MergeTables& t, __m128i bytes, int from, uint32_t pairs) {
        const __m128i next = _mm_srli_si128(bytes, 1);
        const __m256i left = _mm256_cvtepu8_epi32(from == 0 ? bytes : _mm_srli_si128(bytes, 8));
        const __m256i right = _mm256_cvtepu8_epi32(from == 0 ? next : _mm_srli_si128(next, 8));
        const __m256i inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(int(pairs)), numbers(from));
        const __m256i ranks =
            _mm256_mask_i32gather_epi32(_mm256_set1_epi32(-1), reinterpret_cast<const int*>(t.byte_pair_ranks),
                                        _mm256_or_si256(_mm256_slli_epi32(left, 8), right), inside, 4);
        const __m256i none = _mm256_cmpeq_epi32(ranks, _mm256_set1_epi32(-1));
        return _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi32(ranks, 4), numbers(from)), none);
    }

    __m256i low_, high_;
};

}  // namespace

void merge_batch_avx2(const MergeTables& tables, MergeTask* tasks, size_t n) {
    MergeLanes<Lanes>::merge(tables, tasks, n);
}

}  // namespace crayon

#endif
