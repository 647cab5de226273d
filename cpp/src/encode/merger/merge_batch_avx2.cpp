// Merges pretokens together with AVX2: eight lanes in each register.
#include "encode/merger/merge.h"
#include "encode/merger/merge_batch.h"
#include "support/target.h"

#if CRAYON_X86_64

#include "encode/merger/merge_lanes.h"

namespace crayon {
namespace {

template <size_t kRegisters>
class Lanes {
  public:
    static constexpr size_t kCount = 8 * kRegisters, kTogether = 8;

    Lanes() = default;
    Lanes(const MergeTables& t, const uint8_t* bytes, uint32_t pairs) {
        for (size_t r = 0; r < kRegisters; ++r) {
            const __m256i left = eight_at(bytes + 8 * r), right = eight_at(bytes + 8 * r + 1);
            const __m256i inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(int(pairs)), numbers(r));
            const __m256i ranks =
                _mm256_mask_i32gather_epi32(_mm256_set1_epi32(-1), reinterpret_cast<const int*>(t.byte_pair_ranks),
                                            _mm256_or_si256(_mm256_slli_epi32(left, 8), right), inside, 4);
            const __m256i none = _mm256_cmpeq_epi32(ranks, _mm256_set1_epi32(-1));
            lanes_[r] = _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi32(ranks, lane_bits(kCount)), numbers(r)), none);
        }
    }

    uint32_t least() const {
        __m256i eight = lanes_[0];
        for (size_t r = 1; r < kRegisters; ++r) eight = _mm256_min_epu32(eight, lanes_[r]);
        __m128i four = _mm_min_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
        four = _mm_min_epu32(four, _mm_shuffle_epi32(four, 0x4E));
        return uint32_t(_mm_cvtsi128_si32(_mm_min_epu32(four, _mm_shuffle_epi32(four, 0xB1))));
    }

    void change(uint32_t gone, uint32_t here, uint32_t here_rank, uint32_t there, uint32_t there_rank) {
        const __m256i gone_lane = _mm256_set1_epi32(int(gone)), here_lane = _mm256_set1_epi32(int(here)),
                      there_lane = _mm256_set1_epi32(int(there)), at_here = _mm256_set1_epi32(int(here_rank)),
                      at_there = _mm256_set1_epi32(int(there_rank));
        for (size_t r = 0; r < kRegisters; ++r) {
            __m256i lanes = _mm256_or_si256(lanes_[r], _mm256_cmpeq_epi32(numbers(r), gone_lane));
            lanes = _mm256_blendv_epi8(lanes, at_here, _mm256_cmpeq_epi32(numbers(r), here_lane));
            lanes_[r] = _mm256_blendv_epi8(lanes, at_there, _mm256_cmpeq_epi32(numbers(r), there_lane));
        }
    }

    static void load_ids(const MergeTables& t, const uint8_t* bytes, uint32_t* ids) {
        const int* const byte_ids = reinterpret_cast<const int*>(t.byte_ids);
        for (size_t at = 0; at < kCount; at += 8)
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(ids + at),
                                _mm256_i32gather_epi32(byte_ids, eight_at(bytes + at), 4));
    }

    // Always writes four ids at a time, also beyond the last one.
    static void write_ids(const uint32_t* ids, uint32_t which, uint32_t* out) {
        const uint32_t count = uint32_t(_mm_popcnt_u32(which));
        uint32_t n = 0;
        do {
            for (int i = 0; i < 4; ++i) {
                out[n++] = ids[_tzcnt_u32(which) & (kCount - 1)];
                which &= which - 1;
            }
        } while (n < count);
    }

  private:
    static __m256i eight_at(const uint8_t* bytes) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
    }
    // The numbers of the lanes in register r.
    static __m256i numbers(size_t r) {
        return _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(int(8 * r)));
    }

    __m256i lanes_[kRegisters];
};

}  // namespace

void merge_batch_avx2(const MergeTables& tables, MergeTask* tasks, size_t n) {
    merge_by_size<Lanes<2>, Lanes<4>>(tables, tasks, n);
}

}  // namespace crayon

#endif
