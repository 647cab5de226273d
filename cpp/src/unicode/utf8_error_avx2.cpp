// Validates UTF-8 32 bytes at a time. Errors show in two neighbouring bytes, except the number of continuations after
// a lead. Three half bytes are looked up: each gives the set of errors that it allows, and an error is in all three
// sets. (J. Keiser, D. Lemire, "Validating UTF-8 in less than one instruction per byte", 2021.)
#include "unicode/utf8_error.h"

#if CRAYON_X86_64

#include <immintrin.h>

namespace crayon {
namespace {

// The possible errors of a byte and the one before it, with their bits.
enum Mistake : uint8_t {
    kTooShort = 1 << 0,   // 11______ 0_______, 11______ 11______: a lead without a continuation
    kTooLong = 1 << 1,    // 0_______ 10______: a continuation after ASCII
    kOverlong3 = 1 << 2,  // 11100000 100_____: overlong
    kTooLarge = 1 << 3,   // 11110100 1001____, 11110100 101_____, 11110101 1001____ and so on: above U+10FFFF
    kSurrogate = 1 << 4,  // 11101101 101_____: a surrogate
    kOverlong2 = 1 << 5,  // 1100000_ 10______: overlong
    kOverlong4 = 1 << 6,  // 11110000 1000____: overlong; 11110101 1000____ and so on: above U+10FFFF
    kTwoInside = 1 << 7,  // 10______ 10______: an error unless a lead of three or four bytes precedes them
};
// The errors that any low half of the byte before allows.
constexpr uint8_t kAnyLow = kTooShort | kTooLong | kTwoInside;

inline __m256i table(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t e, uint8_t f, uint8_t g, uint8_t h, uint8_t i,
                     uint8_t j, uint8_t k, uint8_t l, uint8_t m, uint8_t n, uint8_t o, uint8_t p) {
    return _mm256_broadcastsi128_si256(_mm_setr_epi8(char(a), char(b), char(c), char(d), char(e), char(f), char(g),
                                                     char(h), char(i), char(j), char(k), char(l), char(m), char(n),
                                                     char(o), char(p)));
}

inline __m256i high_half(__m256i v) {
    return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0x0F));
}

// Shifts v up by n bytes, with the last bytes of `before` in front.
template <int n>
inline __m256i moved(__m256i v, __m256i before) {
    return _mm256_alignr_epi8(v, _mm256_permute2x128_si256(before, v, 0x21), 16 - n);
}

// Nonzero where a byte is wrong. `before` has the 32 bytes before v.
inline __m256i mistakes(__m256i v, __m256i before) {
    const __m256i first_high = table(
        kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong, kTooLong,  // 0_______
        kTwoInside, kTwoInside, kTwoInside, kTwoInside,                                  // 10______
        kTooShort | kOverlong2, kTooShort, kTooShort | kOverlong3 | kSurrogate, kTooShort | kTooLarge | kOverlong4);
    constexpr uint8_t kBeyond = kAnyLow | kTooLarge | kOverlong4;
    const __m256i first_low = table(kAnyLow | kOverlong3 | kOverlong2 | kOverlong4, kAnyLow | kOverlong2, kAnyLow,
                                    kAnyLow, kAnyLow | kTooLarge, kBeyond, kBeyond, kBeyond, kBeyond, kBeyond, kBeyond,
                                    kBeyond, kBeyond, kBeyond | kSurrogate, kBeyond, kBeyond);
    constexpr uint8_t kInside = kTooLong | kOverlong2 | kTwoInside;
    const __m256i second_high =
        table(kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort, kTooShort,
              kInside | kOverlong3 | kOverlong4, kInside | kOverlong3 | kTooLarge, kInside | kSurrogate | kTooLarge,
              kInside | kSurrogate | kTooLarge, kTooShort, kTooShort, kTooShort, kTooShort);
    const __m256i first = moved<1>(v, before);
    const __m256i fit = _mm256_and_si256(
        _mm256_and_si256(_mm256_shuffle_epi8(first_high, high_half(first)),
                         _mm256_shuffle_epi8(first_low, _mm256_and_si256(first, _mm256_set1_epi8(0x0F)))),
        _mm256_shuffle_epi8(second_high, high_half(v)));
    // Two continuations are valid exactly at the third byte of three or four, and at the fourth byte of four.
    const __m256i third = _mm256_subs_epu8(moved<2>(v, before), _mm256_set1_epi8(char(0xE0 - 0x80)));
    const __m256i fourth = _mm256_subs_epu8(moved<3>(v, before), _mm256_set1_epi8(char(0xF0 - 0x80)));
    const __m256i is_inside = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(char(0x80)));
    return _mm256_xor_si256(is_inside, fit);
}

}  // namespace

size_t avx2_utf8_prefix(const uint8_t* text, size_t size) {
    __m256i before = _mm256_setzero_si256();
    bool was_ascii = true;
    size_t at = 0;
    for (; size - at >= 32; at += 32) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + at));
        const bool is_ascii = _mm256_movemask_epi8(v) == 0;
        if (!is_ascii || !was_ascii) {
            const __m256i wrong = mistakes(v, before);
            if (!_mm256_testz_si256(wrong, wrong)) break;
        }
        was_ascii = is_ascii;
        before = v;
    }
    // Steps back to the start of a character, because the last character may continue after the block, or be cut.
    for (size_t back = 0; back < 4 && at > 0; ++back) {
        const uint8_t last = text[at - 1];
        if (last < 0x80) return at;
        --at;
        if (last >= 0xC0) return at;
    }
    return at;
}

}  // namespace crayon

#endif
