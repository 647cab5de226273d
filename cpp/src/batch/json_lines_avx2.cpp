// Finds the ends of JSON strings 32 bytes at a time.
#include "batch/json_line.h"

#if CRAYON_X86_64

#include <immintrin.h>

#include "support/bits.h"

namespace crayon {
namespace {

struct Avx2Finder {
    static const uint8_t* find(const uint8_t* p, const uint8_t* end, JsonLine* line) {
        return pass<false>(p, end, nullptr, line);
    }
    static const uint8_t* copy(const uint8_t* p, const uint8_t* end, uint8_t** to, JsonLine* line) {
        return pass<true>(p, end, to, line);
    }

  private:
    template <bool copies>
    static const uint8_t* pass(const uint8_t* p, const uint8_t* end, uint8_t** to, JsonLine* line) {
        const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
        const __m256i last_control = _mm256_set1_epi8(0x1F);
        uint32_t high = 0;
        for (; end - p >= 32; p += 32) {
            const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
            if constexpr (copies) _mm256_storeu_si256(reinterpret_cast<__m256i*>(*to), v);
            const __m256i is_control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, last_control), v);
            const __m256i is_mark = _mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, backslash));
            const uint32_t found = uint32_t(_mm256_movemask_epi8(_mm256_or_si256(is_control, is_mark)));
            high |= uint32_t(_mm256_movemask_epi8(v));
            const uint32_t plain = found == 0 ? 32 : lowest_set_bit(found);
            if constexpr (copies) *to += plain;
            if (found == 0) continue;
            if (high != 0) line->is_ascii = false;
            return p + plain;
        }
        if (high != 0) line->is_ascii = false;
        return copies ? JsonWordFinder::copy(p, end, to, line) : JsonWordFinder::find(p, end, line);
    }
};

}  // namespace

JsonLineReader avx2_json_line_reader() {
    return [](JsonLine* line) { return JsonLineParser<Avx2Finder>(line).run(); };
}

}  // namespace crayon

#endif
