// Merges pretokens together with AVX-512 (F): sixteen lanes in each register.
#include "encode/merger/merge.h"
#include "encode/merger/merge_batch.h"
#include "support/target.h"

#if CRAYON_X86_64

// GCC's own header initializes a variable with itself to mean "undefined", and GCC 12 warns about it (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "encode/merger/merge_lanes.h"

namespace crayon {
namespace {

template <size_t kRegisters>
class Lanes {
  public:
    static constexpr size_t kCount = 16 * kRegisters, kTogether = 16;

    Lanes() = default;
    Lanes(const MergeTables& t, const uint8_t* bytes, uint32_t pairs) {
        const __m512i none = _mm512_set1_epi32(-1);
        for (size_t r = 0; r < kRegisters; ++r) {
            const __m512i left = sixteen(bytes + 16 * r), right = sixteen(bytes + 16 * r + 1);
            const __m512i numbers =
                _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                 _mm512_set1_epi32(int(16 * r)));
            const __m512i ranks =
                _mm512_mask_i32gather_epi32(none, part(r, (1u << pairs) - 1),
                                            _mm512_or_si512(_mm512_slli_epi32(left, 8), right), t.byte_pair_ranks, 4);
            lanes_[r] = _mm512_mask_or_epi32(none, _mm512_cmpneq_epi32_mask(ranks, none),
                                             _mm512_slli_epi32(ranks, lane_bits(kCount)), numbers);
        }
    }

    uint32_t least() const { return _mm512_reduce_min_epu32(_mm512_min_epu32(lanes_[0], lanes_[kRegisters - 1])); }

    void change(uint32_t gone, uint32_t here, uint32_t here_rank, uint32_t there, uint32_t there_rank) {
        for (size_t r = 0; r < kRegisters; ++r) {
            lanes_[r] = _mm512_mask_set1_epi32(lanes_[r], part(r, bit(gone)), -1);
            lanes_[r] = _mm512_mask_set1_epi32(lanes_[r], part(r, bit(here)), int(here_rank));
            lanes_[r] = _mm512_mask_set1_epi32(lanes_[r], part(r, bit(there)), int(there_rank));
        }
    }

    static void load_ids(const MergeTables& t, const uint8_t* bytes, uint32_t* ids) {
        for (size_t r = 0; r < kRegisters; ++r)
            _mm512_storeu_si512(ids + 16 * r, _mm512_i32gather_epi32(sixteen(bytes + 16 * r), t.byte_ids, 4));
    }

    static void write_ids(const uint32_t* ids, uint32_t which, uint32_t* out) {
        for (size_t r = 0; r < kRegisters; ++r) {
            _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(part(r, which), _mm512_loadu_si512(ids + 16 * r)));
            out += _mm_popcnt_u32(part(r, which));
        }
    }

  private:
    static __m512i sixteen(const uint8_t* bytes) {
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    }
    // Of a mask for all lanes, the part for register r.
    static __mmask16 part(size_t r, uint32_t mask) { return __mmask16(mask >> 16 * r); }
    static uint32_t bit(uint32_t number) { return 1u << (number & 31); }

    __m512i lanes_[kRegisters];
};

}  // namespace

void merge_batch_avx512(const MergeTables& tables, MergeTask* tasks, size_t n) {
    merge_by_size<Lanes<1>, Lanes<2>>(tables, tasks, n);
}

}  // namespace crayon

#endif
