// The passes over a block of words with AVX-512 (BW, DQ, VBMI): four keys in one register, a bucket in another.
#pragma once

#include "crayon/simd/kernels.h"
#include "simd/avx512.h"

namespace crayon {
namespace {

__m128i load16(const uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// The sizes of four words, as 64-bit numbers.
__m256i sizes_at(TouchingWords words, size_t i) {
    const auto at = [&words](size_t k) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words.ends + k)); };
    return _mm256_sub_epi64(at(i + 1), at(i));
}
__m256i sizes_at(PieceWords words, size_t i) {
    const __m256i pieces = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words.pieces + i));
    const __m256i starts = _mm256_and_si256(pieces, _mm256_set1_epi64x(0xFFFFFFFF));
    return _mm256_sub_epi64(_mm256_srli_epi64(pieces, 32), starts);
}

// Equals key_at and WordCache::hash, which define keys and hashes.
template <typename Words>
size_t make_keys(const uint8_t* text, Words words, size_t n, WordBuckets in, WordKey* keys, uint32_t* buckets) {
    const __m512i numbers = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __m512i size_of = _mm512_setr_epi64(0, 0, 0x0808080808080808, 0x0808080808080808, 0x1010101010101010,
                                              0x1010101010101010, 0x1818181818181818, 0x1818181818181818);
    const __m512i factors =
        _mm512_broadcast_i32x4(_mm_set_epi64x(int64_t(0xD6E8FEB86659FD93ull), int64_t(0x9E3779B97F4A7C15ull)));
    const __m512i lows = _mm512_zextsi128_si512(_mm_setr_epi32(0, 4, 8, 12));
    const __m128i shift = _mm_cvtsi32_si128(int(in.shift));
    const size_t fours = n - n % 4;
    for (size_t i = 0; i < fours; i += 4) {
        const auto two_at = [&](size_t k) {
            return _mm256_set_m128i(load16(text + words.start(k + 1)), load16(text + words.start(k)));
        };
        __m512i four = _mm512_inserti64x4(_mm512_zextsi256_si512(two_at(i)), two_at(i + 2), 1);
        const __m256i sizes = sizes_at(words, i);
        // Whether a word is neither empty nor too long. Other words get the key that matches nothing.
        const __mmask8 fits = _mm256_cmplt_epu64_mask(_mm256_sub_epi64(sizes, _mm256_set1_epi64x(1)),
                                                      _mm256_set1_epi64x(int64_t(kWordKeyBytes)));
        const __m512i size =
            _mm512_permutexvar_epi8(size_of, _mm512_zextsi256_si512(_mm256_maskz_mov_epi64(fits, sizes)));
        four = _mm512_maskz_mov_epi8(_mm512_cmplt_epu8_mask(numbers, size), four);
        four = _mm512_mask_mov_epi8(four, 0x8000800080008000, size);
        four = _mm512_mask_mov_epi64(four, __mmask8(_pdep_u32(uint32_t(fits) ^ 15, 0xAA)), _mm512_set1_epi64(1));
        _mm512_storeu_si512(keys + i, four);
        const __m512i products = _mm512_mullo_epi64(four, factors);
        const __m512i sums = _mm512_add_epi64(products, _mm512_shuffle_epi32(products, _MM_PERM_BADC));
        const __m512i found = _mm512_permutexvar_epi32(lows, _mm512_srl_epi64(sums, shift));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(buckets + i), _mm512_castsi512_si128(found));
        for (size_t k = i; k < i + 4; ++k)
            _mm_prefetch(reinterpret_cast<const char*>(in.entries + 2 * size_t(buckets[k])), _MM_HINT_T0);
    }
    return fours;
}

size_t look_up(size_t n, const WordEntry* in, const WordKey* keys, const uint32_t* buckets, const WordEntry** entries,
               uint32_t* missed) {
    // The compared bits of a bucket: both entries' keys, without the number of ids.
    const __m512i compared = _mm512_setr_epi64(-1, int64_t(kWordKeyMask), 0, 0, -1, int64_t(kWordKeyMask), 0, 0);
    size_t n_missed = 0;
    for (size_t i = 0; i < n; ++i) {
        const WordEntry* const bucket = in + 2 * size_t(buckets[i]);
        const __m128i key = load16(reinterpret_cast<const uint8_t*>(keys + i));
        const __m512i differs = _mm512_xor_si512(_mm512_loadu_si512(bucket), _mm512_broadcast_i32x4(key));
        const uint32_t equal = _mm512_testn_epi64_mask(differs, compared);
        // Adds up both halves of a key, because compilers turn a comparison into a branch. Bit 2: newer, bit 6: older.
        const uint32_t hits = (equal & 0x33) + 0x11;
        entries[i] = bucket + (~hits >> 2 & 1);
        missed[n_missed] = uint32_t(i);
        n_missed += ((hits >> 2 | hits >> 6) & 1) ^ 1;
    }
    return n_missed;
}

constexpr WordKernels kWordKernels = {make_keys<TouchingWords>, make_keys<PieceWords>, look_up};

}  // namespace
}  // namespace crayon
