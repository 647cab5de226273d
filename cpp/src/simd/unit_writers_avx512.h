// Compresses the first, second, third and fourth bytes of a vector's characters into a vector each. Then widens them to
// lanes and combines the bits of each character.
//    two bytes    110aaaaa 10bbbbbb           -> 00000aaa aabbbbbb
//    three bytes  1110aaaa 10bbbbbb 10cccccc  -> aaaabbbb bbcccccc
#pragma once

#include "crayon/simd/kernels.h"
#include "simd/avx512.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

constexpr size_t kBytes = 64;  // of a vector
constexpr size_t kBehind = 3;  // bytes of the vector's last character that may be after the vector

__m512i load(const uint8_t* p) {
    return _mm512_loadu_si512(p);
}

// A quarter of the vector's bytes.
template <int quarter>
__m128i part(__m512i v) {
    return _mm512_extracti32x4_epi32(v, quarter);
}

// The first bytes of the characters in 64 bytes, and the bytes after each of them.
struct Leads {
    explicit Leads(const uint8_t* from) : p(from), bytes(load(from)) {
        is_lead = _mm512_cmpge_epi8_mask(bytes, _mm512_set1_epi8(-0x40));
        count = size_t(_mm_popcnt_u64(is_lead));
        first = compress(bytes);
    }
    __m512i behind(size_t n) const { return compress(load(p + n)); }
    __m512i compress(__m512i v) const { return _mm512_maskz_compress_epi8(is_lead, v); }
    bool is_ascii() const { return _mm512_movepi8_mask(bytes) == 0; }
    bool has_four() const { return _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(int8_t(0xF0))) != 0; }

    const uint8_t* p;
    __m512i bytes, first;
    __mmask64 is_lead;
    size_t count;
};

// 32 characters of up to three bytes. The shifts push the bits that encode the number of bytes out of the lane.
__m512i words_of(__m256i a, __m256i b, __m256i c) {
    const __m512i inside = _mm512_set1_epi16(0x3F);
    const __m512i first = _mm512_cvtepu8_epi16(a);
    const __m512i second = _mm512_and_si512(_mm512_cvtepu8_epi16(b), inside);
    const __m512i third = _mm512_and_si512(_mm512_cvtepu8_epi16(c), inside);
    const __m512i two = _mm512_or_si512(_mm512_slli_epi16(_mm512_and_si512(first, _mm512_set1_epi16(0x1F)), 6), second);
    const __m512i three =
        _mm512_or_si512(_mm512_or_si512(_mm512_slli_epi16(first, 12), _mm512_slli_epi16(second, 6)), third);
    const __mmask32 is_two = _mm512_cmpge_epu16_mask(first, _mm512_set1_epi16(0xC0));
    const __mmask32 is_three = _mm512_cmpge_epu16_mask(first, _mm512_set1_epi16(0xE0));
    return _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(first, is_two, two), is_three, three);
}

// 16 characters of any size.
__m512i longs_of(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m512i inside = _mm512_set1_epi32(0x3F);
    const auto six = [&](__m128i v) { return _mm512_and_si512(_mm512_cvtepu8_epi32(v), inside); };
    const auto after = [](__m512i before, __m512i v) { return _mm512_or_si512(_mm512_slli_epi32(before, 6), v); };
    const __m512i first = _mm512_cvtepu8_epi32(a);
    const auto is_from = [&](int least) { return _mm512_cmpge_epi32_mask(first, _mm512_set1_epi32(least)); };
    const auto lead = [&](int bits) { return _mm512_and_si512(first, _mm512_set1_epi32(bits)); };
    const __m512i second = six(b), third = six(c);
    const __m512i two = after(lead(0x1F), second);
    const __m512i three = after(after(lead(0x0F), second), third);
    const __m512i four = after(after(after(lead(0x07), second), third), six(d));
    __m512i made = _mm512_mask_mov_epi32(first, is_from(0xC0), two);
    made = _mm512_mask_mov_epi32(made, is_from(0xE0), three);
    return _mm512_mask_mov_epi32(made, is_from(0xF0), four);
}

void store(__m512i words, uint16_t* to) {
    _mm512_storeu_si512(to, words);
}
void store(__m512i words, uint32_t* to) {
    _mm512_storeu_si512(to, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(words)));
    _mm512_storeu_si512(to + 16, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(words, 1)));
}

// The functions write_block write 64 units, of which the first `count` are valid.
void write_block(const Leads& leads, uint8_t* to) {
    const __m512i second = leads.behind(1);
    // C2 leaves the next byte unchanged, C3 adds 0x40.
    const __m512i two = _mm512_mask_add_epi8(second, _mm512_test_epi8_mask(leads.first, _mm512_set1_epi8(1)), second,
                                             _mm512_set1_epi8(0x40));
    const __mmask64 is_two = _mm512_cmpge_epu8_mask(leads.first, _mm512_set1_epi8(int8_t(0xC0)));
    _mm512_storeu_si512(to, _mm512_mask_mov_epi8(leads.first, is_two, two));
}

template <typename Unit>
void write_words(const Leads& leads, Unit* to) {
    const __m512i a = leads.first, b = leads.behind(1), c = leads.behind(2);
    const auto low = [](__m512i v) { return _mm512_castsi512_si256(v); };
    const auto high = [](__m512i v) { return _mm512_extracti64x4_epi64(v, 1); };
    store(words_of(low(a), low(b), low(c)), to);
    if (leads.count > 32) store(words_of(high(a), high(b), high(c)), to + 32);
}

void write_block(const Leads& leads, uint16_t* to) {
    write_words(leads, to);
}

void write_block(const Leads& leads, uint32_t* to) {
    if (!leads.has_four()) return write_words(leads, to);
    const __m512i a = leads.first, b = leads.behind(1), c = leads.behind(2), d = leads.behind(3);
    _mm512_storeu_si512(to, longs_of(part<0>(a), part<0>(b), part<0>(c), part<0>(d)));
    _mm512_storeu_si512(to + 16, longs_of(part<1>(a), part<1>(b), part<1>(c), part<1>(d)));
    if (leads.count <= 32) return;
    _mm512_storeu_si512(to + 32, longs_of(part<2>(a), part<2>(b), part<2>(c), part<2>(d)));
    _mm512_storeu_si512(to + 48, longs_of(part<3>(a), part<3>(b), part<3>(c), part<3>(d)));
}

void write_ascii(const uint8_t* p, uint8_t* to) {
    _mm512_storeu_si512(to, load(p));
}
template <typename Unit>
void write_ascii(const uint8_t* p, Unit* to) {
    for (size_t i = 0; i < kBytes; i += 32)
        store(_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i))), to + i);
}

template <typename Unit>
void write_units(Bytes text, size_t characters, Unit* to) {
    const uint8_t* p = text.data;
    const uint8_t* const end = p + text.size;
    const Unit* const to_end = to + characters;
    while (size_t(end - p) >= kBytes + kBehind && size_t(to_end - to) >= kBytes) {
        const Leads leads(p);
        if (leads.is_ascii())
            write_ascii(p, to);
        else
            write_block(leads, to);
        p += kBytes;
        to += leads.count;
    }
    while (p < end && (*p & 0xC0) == 0x80) ++p;  // of the last character that is written
    while (p < end) {
        const Character c = character_at(p, end);
        *to++ = Unit(c.code_point);
        p += c.size;
    }
}

constexpr UnitWriters kUnitWriters = {write_units<uint8_t>, write_units<uint16_t>, write_units<uint32_t>};

}  // namespace
}  // namespace crayon
