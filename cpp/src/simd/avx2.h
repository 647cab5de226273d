// Vectors of AVX2 (window.h, utf8_blocks.h).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace crayon {
namespace {

// 32 bytes of text, or a mask of 32 bytes that are each all ones or all zeros.
struct Avx2 {
    static constexpr size_t kSize = 32;
    static constexpr size_t kShortest = 8;  // see scan_window.h
    __m256i v;

    static Avx2 load(const uint8_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
    void store(uint8_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
    static Avx2 all(uint8_t byte) { return {_mm256_set1_epi8(static_cast<char>(byte))}; }
    Avx2 operator|(Avx2 other) const { return {_mm256_or_si256(v, other.v)}; }
    Avx2 operator&(Avx2 other) const { return {_mm256_and_si256(v, other.v)}; }
    Avx2 operator^(Avx2 other) const { return {_mm256_xor_si256(v, other.v)}; }

    Avx2 equal(uint8_t byte) const { return {_mm256_cmpeq_epi8(v, all(byte).v)}; }
    Avx2 at_least(uint8_t byte) const { return {_mm256_cmpeq_epi8(_mm256_max_epu8(v, all(byte).v), v)}; }
    Avx2 in_range(uint8_t first, uint8_t last) const {
        const __m256i moved = _mm256_sub_epi8(v, all(first).v);
        return {_mm256_cmpeq_epi8(_mm256_min_epu8(moved, all(static_cast<uint8_t>(last - first)).v), moved)};
    }
    Avx2 has(uint8_t flag) const { return (*this & all(flag)).equal(flag); }
    Avx2 high() const { return *this; }
    template <size_t n>
    static uint64_t bits(const Avx2 (&masks)[n]) {
        uint64_t found = 0;
        for (size_t i = 0; i < n; ++i)
            found |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(masks[i].v))) << kSize * i;
        return found;
    }
    bool is_ascii() const { return _mm256_movemask_epi8(v) == 0; }
    bool any() const { return !_mm256_testz_si256(v, v); }

    Avx2 look_up(const uint8_t (&table)[16]) const { return {_mm256_shuffle_epi8(both_halves(table), v)}; }
    struct Rows {
        __m256i part[4];
        explicit Rows(const uint8_t* p)
            : part{both_halves(p), both_halves(p + 16), both_halves(p + 32), both_halves(p + 48)} {}
        Avx2 at(Avx2 of) const {
            const __m256i low = (of & all(0x0F)).v;
            const __m256i bit4 = _mm256_slli_epi16(of.v, 3);  // moved to the bit that a blend tests
            const __m256i bit5 = _mm256_slli_epi16(of.v, 2);
            const auto blend = [&](const __m256i& a, const __m256i& b) {
                return _mm256_blendv_epi8(_mm256_shuffle_epi8(a, low), _mm256_shuffle_epi8(b, low), bit4);
            };
            return {_mm256_blendv_epi8(blend(part[0], part[1]), blend(part[2], part[3]), bit5)};
        }
    };

    // The high half of each byte.
    Avx2 high_half() const { return Avx2{_mm256_srli_epi16(v, 4)} & all(0x0F); }
    // Subtracts, but not below 0.
    Avx2 less(uint8_t byte) const { return {_mm256_subs_epu8(v, all(byte).v)}; }
    // Shifts up by n bytes, with the last bytes of `before` in front.
    template <int n>
    Avx2 after(Avx2 before) const {
        return {_mm256_alignr_epi8(v, _mm256_permute2x128_si256(before.v, v, 0x21), 16 - n)};
    }

    // Writes the place of each bit plus `pos` to `places`, eight at a time, so that few branches depend on the number
    // of bits. `places` has room for 64.
    static size_t store_places(uint64_t bits, size_t pos, size_t* places) {
        const size_t count = static_cast<size_t>(_mm_popcnt_u64(bits));
        for (; bits != 0; places += 8) {
            for (uint32_t i = 0; i < 8; ++i) {
                places[i] = pos + static_cast<size_t>(_tzcnt_u64(bits));
                bits &= bits - 1;
            }
        }
        return count;
    }

  private:
    static __m256i both_halves(const uint8_t* p) {
        return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    }
};

// Eight code points of 16 bits.
struct Avx2Words {
    __m128i v;

    static Avx2Words load(const uint8_t* p) {
        return {_mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
    }
    static Avx2Words load(const uint16_t* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
    static Avx2Words all(uint16_t word) { return {_mm_set1_epi16(static_cast<int16_t>(word))}; }
    Avx2Words operator|(Avx2Words other) const { return {_mm_or_si128(v, other.v)}; }
    Avx2Words operator&(Avx2Words other) const { return {_mm_and_si128(v, other.v)}; }
    Avx2Words shifted_by_2() const { return {_mm_slli_epi16(v, 2)}; }
    Avx2Words above(uint16_t least) const { return {_mm_cmpgt_epi16(v, all(least).v)}; }  // below 0x8000
    Avx2Words select(Avx2Words yes, Avx2Words no) const { return {_mm_blendv_epi8(no.v, yes.v, v)}; }
    size_t bits() const { return static_cast<size_t>(_mm_movemask_epi8(_mm_packs_epi16(v, _mm_setzero_si128()))); }
    bool any_at_least(uint16_t power_of_two) const {
        return !_mm_testz_si128(v, all(static_cast<uint16_t>(-power_of_two)).v);
    }
    bool any_surrogate() const {
        return _mm_movemask_epi8(_mm_cmpeq_epi16((*this & all(0xF800)).v, all(0xD800).v)) != 0;
    }
    void write_ascii(uint8_t* to) const { _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(v, v)); }
    void write(const uint8_t* shuffle, uint8_t* to) const {
        const __m128i by = _mm_loadu_si128(reinterpret_cast<const __m128i*>(shuffle));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(v, by));
    }
};

// Four code points of 32 bits.
struct Avx2Longs {
    __m128i v;

    static Avx2Longs load(const uint32_t* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
    static Avx2Longs low(Avx2Words words) { return {_mm_cvtepu16_epi32(words.v)}; }
    static Avx2Longs high(Avx2Words words) { return {_mm_unpackhi_epi16(words.v, _mm_setzero_si128())}; }
    static Avx2Longs all(uint32_t word) { return {_mm_set1_epi32(static_cast<int>(word))}; }
    Avx2Longs operator|(Avx2Longs other) const { return {_mm_or_si128(v, other.v)}; }
    Avx2Longs operator&(Avx2Longs other) const { return {_mm_and_si128(v, other.v)}; }
    Avx2Longs operator^(Avx2Longs other) const { return {_mm_xor_si128(v, other.v)}; }
    template <int n>
    Avx2Longs shifted() const {
        return {_mm_slli_epi32(v, n)};
    }
    Avx2Longs above(uint32_t least) const { return {_mm_cmpgt_epi32(v, all(least).v)}; }  // below 0x80000000
    Avx2Longs select(Avx2Longs yes, Avx2Longs no) const { return {_mm_blendv_epi8(no.v, yes.v, v)}; }
    // One bit for each lane of two masks: `low` in bits 0 to 3, `high` from bit 4 on.
    static size_t bits(Avx2Longs low, Avx2Longs high) {
        const auto of = [](Avx2Longs mask) { return _mm_movemask_ps(_mm_castsi128_ps(mask.v)); };
        return static_cast<size_t>(of(low) | of(high) << 4);
    }
    bool any_not_unicode() const {
        const __m128i surrogate = _mm_cmpeq_epi32(_mm_srli_epi32(v, 11), all(0xD800 >> 11).v);
        const __m128i last = all(0x10FFFF).v;
        const __m128i fits = _mm_cmpeq_epi32(_mm_max_epu32(v, last), last);
        return _mm_movemask_epi8(_mm_andnot_si128(surrogate, fits)) != 0xFFFF;
    }
    void write(const uint8_t* shuffle, uint8_t* to) const { Avx2Words{v}.write(shuffle, to); }
};

}  // namespace
}  // namespace crayon
