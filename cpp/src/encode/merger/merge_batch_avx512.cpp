// Merges pretokens together with AVX-512 (F): sixteen lanes in one register.
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

class Lanes {
  public:
    static constexpr size_t kTogether = 16;

    Lanes() = default;
    Lanes(const MergeTables& t, __m128i bytes, uint32_t pairs) {
        const __m512i left = _mm512_cvtepu8_epi32(bytes), right = _mm512_cvtepu8_epi32(_mm_srli_si128(bytes, 1));
        const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m512i none = _mm512_set1_epi32(-1);
        const __m512i ranks =
            _mm512_mask_i32gather_epi32(none, __mmask16((1u << pairs) - 1),
                                        _mm512_or_si512(_mm512_slli_epi32(left, 8), right), t.byte_pair_ranks, 4);
        lanes_ =
            _mm512_mask_or_epi32(none, _mm512_cmpneq_epi32_mask(ranks, none), _mm512_slli_epi32(ranks, 4), numbers);
    }

    uint32_t least() const { return _mm512_reduce_min_epu32(lanes_); }

    void change(uint32_t gone, uint32_t here, uint32_t here_rank, uint32_t there, uint32_t there_rank) {
        lanes_ = _mm512_mask_set1_epi32(lanes_, lane(gone), -1);
        lanes_ = _mm512_mask_set1_epi32(lanes_, lane(here), int(here_rank));
        lanes_ = _mm512_mask_set1_epi32(lanes_, lane(there), int(there_rank));
    }

    static void load_ids(const MergeTables& t, __m128i bytes, uint32_t* ids) {
        _mm512_storeu_si512(ids, _mm512_i32gather_epi32(_mm512_cvtepu8_epi32(bytes), t.byte_ids, 4));
    }

    static void write_ids(const uint32_t* ids, uint32_t which, uint32_t* out) {
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(__mmask16(which), _mm512_loadu_si512(ids)));
    }

  private:
    // Numbers from 16 to 31, and -1, select no lane.
    static __mmask16 lane(uint32_t number) { return __mmask16(1u << (number & 31)); }

    __m512i lanes_;
};

}  // namespace

void merge_batch_avx512(const MergeTables& tables, MergeTask* tasks, size_t n) {
    MergeLanes<Lanes>::merge(tables, tasks, n);
}

}  // namespace crayon

#endif
