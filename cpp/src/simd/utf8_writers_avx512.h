// Writes UTF-8 with AVX-512: puts the UTF-8 of each code point into a lane of 2 or 4 bytes, and compresses the lanes'
// used bytes.
#pragma once

#include "crayon/simd/kernels.h"
#include "simd/avx512.h"

namespace crayon {
namespace {

size_t write(__m512i v, __mmask64 bytes, uint8_t* to) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(bytes, v));
    return size_t(_mm_popcnt_u64(bytes));
}

// Writes 32 code points of one or two bytes. Returns the number of bytes.
size_t write_two(__m512i v, __mmask32 is_two, uint8_t* to) {
    const __m512i lead = _mm512_srli_epi16(v, 6);
    const __m512i last = _mm512_slli_epi16(_mm512_and_si512(v, _mm512_set1_epi16(0x3F)), 8);
    const __m512i two = _mm512_or_si512(_mm512_or_si512(lead, last), _mm512_set1_epi16(int16_t(0x80C0)));
    const __mmask64 bytes = _pdep_u64(is_two, 0xAAAAAAAAAAAAAAAAu) | 0x5555555555555555u;
    return write(_mm512_mask_mov_epi16(v, is_two, two), bytes, to);
}

// Writes 16 code points of any size. Returns the number of bytes. A lane first has the last byte in front; then it is
// reversed.
size_t write_four(__m512i v, uint8_t* to) {
    const auto part = [&](unsigned shift, int bits) {
        return _mm512_and_si512(_mm512_slli_epi32(v, shift), _mm512_set1_epi32(bits));
    };
    const auto above = [&](int least) { return _mm512_cmpgt_epi32_mask(v, _mm512_set1_epi32(least)); };
    const __mmask16 two = above(0x7F), three = above(0x7FF), four = above(0xFFFF);
    const __m512i parts =
        _mm512_or_si512(_mm512_or_si512(_mm512_and_si512(v, _mm512_set1_epi32(0x3F)), part(2, 0x3F00)),
                        _mm512_or_si512(part(4, 0x3F0000), part(6, 0x07000000)));
    __m512i marks = _mm512_mask_mov_epi32(_mm512_set1_epi32(0xC080), three, _mm512_set1_epi32(0xE08080));
    marks = _mm512_mask_mov_epi32(marks, four, _mm512_set1_epi32(int(0xF0808080)));
    const __m512i reversed = _mm512_mask_or_epi32(v, two, parts, marks);
    const __m512i reverse = _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    const __mmask64 bytes = 0x8888888888888888u | _pdep_u64(two, 0x4444444444444444u) |
                            _pdep_u64(three, 0x2222222222222222u) | _pdep_u64(four, 0x1111111111111111u);
    return write(_mm512_shuffle_epi8(reversed, reverse), bytes, to);
}

__m512i load_words(const uint8_t* p) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
__m512i load_words(const uint16_t* p) {
    return _mm512_loadu_si512(p);
}

template <typename Unit>
Utf8Progress write_lanes_of_2(const Unit* units, size_t n, uint8_t* const begin) {
    uint8_t* to = begin;
    size_t i = 0;
    // The second half of a vector also needs units after it.
    for (; n - i >= sizeof(__m512i) + 16; i += 32) {
        const __m512i v = load_words(units + i);
        const __mmask32 two = _mm512_cmpge_epu16_mask(v, _mm512_set1_epi16(0x80));
        if (two == 0) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(v));
            to += 32;
        } else if (_mm512_cmpge_epu16_mask(v, _mm512_set1_epi16(0x800)) == 0) {
            to += write_two(v, two, to);
        } else {
            const __m512i top = _mm512_and_si512(v, _mm512_set1_epi16(int16_t(0xF800)));
            if (_mm512_cmpeq_epi16_mask(top, _mm512_set1_epi16(int16_t(0xD800))) != 0) break;
            to += write_four(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(v)), to);
            to += write_four(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(v, 1)), to);
        }
    }
    return {i, size_t(to - begin)};
}

Utf8Progress write_lanes_of_4(const uint32_t* units, size_t n, uint8_t* const begin) {
    uint8_t* to = begin;
    size_t i = 0;
    for (; n - i >= sizeof(__m512i); i += 16) {
        const __m512i v = _mm512_loadu_si512(units + i);
        const __m512i surrogates = _mm512_set1_epi32(0xD800 >> 11);
        if ((_mm512_cmpeq_epi32_mask(_mm512_srli_epi32(v, 11), surrogates) |
             _mm512_cmpgt_epu32_mask(v, _mm512_set1_epi32(0x10FFFF))) != 0)
            break;
        to += write_four(v, to);
    }
    return {i, size_t(to - begin)};
}

constexpr Utf8Writers kUtf8Writers = {write_lanes_of_2<uint8_t>, write_lanes_of_2<uint16_t>, write_lanes_of_4};

}  // namespace
}  // namespace crayon
