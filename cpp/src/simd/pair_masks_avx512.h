// Finds ASCII bytes that merging can join to the byte before, with AVX-512 (BW, VBMI). For the pair (before, after),
// the table has bit before % 8 of the byte at before / 8 * 128 + after.
#pragma once

#include "crayon/simd/kernels.h"
#include "simd/avx512.h"

namespace crayon {
namespace {

void add_pair(uint8_t* table, uint8_t before, uint8_t after) {
    table[before / 8 * 128 + after] |= uint8_t(1 << before % 8);
}

PairMasks pair_masks(const uint8_t* table, const uint8_t* p) {
    const __m512i after = _mm512_loadu_si512(p), before = _mm512_loadu_si512(p - 1);
    const __m512i eighth = _mm512_and_si512(_mm512_srli_epi16(before, 3), _mm512_set1_epi8(0x0F));
    // For each byte, the predecessors that it can join, among the eight around its actual one.
    __m512i found = _mm512_setzero_si512();
    for (int i = 0; i < 16; ++i) {
        const __mmask64 here = _mm512_cmpeq_epi8_mask(eighth, _mm512_set1_epi8(char(i)));
        const uint8_t* const plane = table + 128 * i;
        const __m512i row = _mm512_permutex2var_epi8(_mm512_loadu_si512(plane), after, _mm512_loadu_si512(plane + 64));
        found = _mm512_mask_mov_epi8(found, here, row);
    }
    const __m512i bits = _mm512_set1_epi64(int64_t(0x8040201008040201));
    const __m512i bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(before, _mm512_set1_epi8(7)));
    const __mmask64 high = _mm512_movepi8_mask(after);
    return {_mm512_test_epi8_mask(found, bit), high, high & ~_mm512_test_epi8_mask(after, _mm512_set1_epi8(0x40))};
}

constexpr AsciiPairs kPlanePairs = {16 * 128, add_pair, pair_masks};

}  // namespace
}  // namespace crayon
