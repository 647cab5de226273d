#include "unicode/utf8_writer.h"

#if CRAYON_X86_64

#include <immintrin.h>

#include "unicode/utf8_blocks.h"

namespace crayon {
namespace {

struct Avx2 {
    using Words = __m128i;
    using Longs = __m128i;

    static Words load(const uint8_t* p) {
        return _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    }
    static Words load(const uint16_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static Longs load(const uint32_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
    static Longs low(Words v) { return _mm_cvtepu16_epi32(v); }
    static Longs high(Words v) { return _mm_unpackhi_epi16(v, _mm_setzero_si128()); }

    static bool any_at_least(Words v, uint16_t power_of_two) {
        return !_mm_testz_si128(v, _mm_set1_epi16(int16_t(-power_of_two)));
    }
    static bool any_surrogate(Words v) {
        const Words top = _mm_and_si128(v, _mm_set1_epi16(int16_t(0xF800)));
        return _mm_movemask_epi8(_mm_cmpeq_epi16(top, _mm_set1_epi16(int16_t(0xD800)))) != 0;
    }
    static bool any_not_unicode(Longs v) {
        const Longs surrogate = _mm_cmpeq_epi32(_mm_srli_epi32(v, 11), _mm_set1_epi32(0xD800 >> 11));
        const Longs last = _mm_set1_epi32(0x10FFFF);
        const Longs fits = _mm_cmpeq_epi32(_mm_max_epu32(v, last), last);
        return _mm_movemask_epi8(_mm_andnot_si128(surrogate, fits)) != 0xFFFF;
    }

    static void write_ascii(Words v, uint8_t* to) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(v, v));
    }
    // Code points of one or two bytes.
    static size_t write_two(Words v, uint8_t* to) {
        const Words is_two = _mm_cmpgt_epi16(v, _mm_set1_epi16(0x7F));
        const Words last = _mm_and_si128(v, _mm_set1_epi16(0x3F));
        const Words lead = _mm_and_si128(_mm_slli_epi16(v, 2), _mm_set1_epi16(0x1F00));
        const Words two = _mm_or_si128(_mm_or_si128(last, lead), _mm_set1_epi16(int16_t(0xC080)));
        const auto key = size_t(_mm_movemask_epi8(_mm_packs_epi16(is_two, _mm_setzero_si128())));
        return write(_mm_blendv_epi8(v, two, is_two), kShufflesOf8, key, to);
    }
    // Code points of any size.
    static size_t write_four(Longs v, uint8_t* to) {
        const auto part = [&](int shift, int bits) {
            return _mm_and_si128(_mm_slli_epi32(v, shift), _mm_set1_epi32(bits));
        };
        const Longs parts = _mm_or_si128(_mm_or_si128(_mm_and_si128(v, _mm_set1_epi32(0x3F)), part(2, 0x3F00)),
                                         _mm_or_si128(part(4, 0x3F0000), part(6, 0x07000000)));
        const Longs two = above(v, 0x7F), three = above(v, 0x7FF), four = above(v, 0xFFFF);
        Longs marks = _mm_blendv_epi8(_mm_set1_epi32(0xC080), _mm_set1_epi32(0xE08080), three);
        marks = _mm_blendv_epi8(marks, _mm_set1_epi32(int(0xF0808080)), four);
        const Longs bytes = _mm_blendv_epi8(v, _mm_or_si128(parts, marks), two);
        const int odd = _mm_movemask_ps(_mm_castsi128_ps(_mm_or_si128(_mm_andnot_si128(three, two), four)));
        return write(bytes, kShufflesOf4, size_t(odd | _mm_movemask_ps(_mm_castsi128_ps(three)) << 4), to);
    }

  private:
    static Longs above(Longs v, int least) { return _mm_cmpgt_epi32(v, _mm_set1_epi32(least)); }
    static size_t write(__m128i v, const Utf8Shuffles& shuffles, size_t key, uint8_t* to) {
        const auto* const shuffle = reinterpret_cast<const __m128i*>(shuffles.bytes[key].data());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(v, _mm_loadu_si128(shuffle)));
        return shuffles.sizes[key];
    }
};

}  // namespace

const Utf8Writers kAvx2Utf8Writers = utf8_writers_of<Avx2>();

}  // namespace crayon

#endif
