// Vectors of AVX-512 with F, BW, VL, DQ, VBMI and VBMI2 (window.h). Include it before other intrinsics.
#pragma once

// GCC's own header initializes a variable with itself to mean "undefined", and GCC 12 warns about it (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace crayon {
namespace {

struct Counting {
    alignas(64) uint8_t of[64];
};

constexpr Counting counting() {
    Counting c{};
    for (int i = 0; i < 64; ++i) c.of[i] = static_cast<uint8_t>(i);
    return c;
}

constexpr Counting kCounting = counting();

// 64 bytes of text. Masks are numbers with one bit for each byte.
struct Avx512 {
    static constexpr size_t kSize = 64;
    static constexpr size_t kShortest = 4;  // see scan_window.h
    __m512i v;

    static Avx512 load(const uint8_t* p) { return {_mm512_loadu_si512(p)}; }
    static Avx512 load(const uint8_t* p, size_t left) {
        return {_mm512_maskz_loadu_epi8((uint64_t{1} << left) - 1, p)};
    }
    void store(uint8_t* to) const { _mm512_storeu_si512(to, v); }
    static Avx512 all(uint8_t byte) { return {_mm512_set1_epi8(static_cast<char>(byte))}; }
    Avx512 operator|(Avx512 other) const { return {_mm512_or_si512(v, other.v)}; }
    Avx512 operator&(Avx512 other) const { return {_mm512_and_si512(v, other.v)}; }
    Avx512 operator^(Avx512 other) const { return {_mm512_xor_si512(v, other.v)}; }

    uint64_t equal(uint8_t byte) const { return _mm512_cmpeq_epi8_mask(v, all(byte).v); }
    uint64_t at_least(uint8_t byte) const { return _mm512_cmpge_epu8_mask(v, all(byte).v); }
    uint64_t in_range(uint8_t first, uint8_t last) const {
        const __m512i moved = _mm512_sub_epi8(v, all(first).v);
        return _mm512_cmple_epu8_mask(moved, all(static_cast<uint8_t>(last - first)).v);
    }
    uint64_t has(uint8_t flag) const { return _mm512_test_epi8_mask(v, all(flag).v); }
    uint64_t high() const { return _mm512_movepi8_mask(v); }
    static uint64_t bits(const uint64_t (&masks)[1]) { return masks[0]; }
    bool is_ascii() const { return high() == 0; }
    bool any() const { return _mm512_test_epi8_mask(v, v) != 0; }

    Avx512 look_up(const uint8_t (&table)[16]) const {
        const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
        return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), v)};
    }
    struct Rows {
        __m512i entries;
        explicit Rows(const uint8_t* p) : entries(_mm512_loadu_si512(p)) {}
        Avx512 at(Avx512 of) const { return {_mm512_permutexvar_epi8(of.v, entries)}; }
    };

    // The high half of each byte.
    Avx512 high_half() const { return Avx512{_mm512_srli_epi16(v, 4)} & all(0x0F); }
    // Subtracts, but not below 0.
    Avx512 less(uint8_t byte) const { return {_mm512_subs_epu8(v, all(byte).v)}; }
    // Shifts up by n bytes, with the last bytes of `before` in front.
    template <int n>
    Avx512 after(Avx512 before) const {
        return {_mm512_alignr_epi8(v, _mm512_alignr_epi64(v, before.v, 6), 16 - n)};
    }

    // Writes the place of each bit plus `pos` to `places`: compresses places as bytes, then widens eight at a time.
    // `places` has room for 64.
    static size_t store_places(uint64_t bits, size_t pos, size_t* places) {
        const size_t count = static_cast<size_t>(_mm_popcnt_u64(bits));
        const __m512i base = _mm512_set1_epi64(static_cast<long long>(pos));
        __m512i left = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(kCounting.of));
        const __m128i first = _mm512_castsi512_si128(left);
        _mm512_storeu_si512(places, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(first)));
        _mm512_storeu_si512(places + 8, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(_mm_srli_si128(first, 8))));
        left = _mm512_alignr_epi64(left, left, 1);
        for (size_t done = 16; done < count; done += 8) {
            left = _mm512_alignr_epi64(left, left, 1);
            const __m128i next = _mm512_castsi512_si128(left);
            _mm512_storeu_si512(places + done, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(next)));
        }
        return count;
    }
};

}  // namespace
}  // namespace crayon
