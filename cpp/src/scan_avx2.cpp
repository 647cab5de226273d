// Window masks with AVX2.
#include "scan_kernels.h"

#if CRAYON_X86_64

#include <immintrin.h>

#include "scan_window.h"

namespace crayon {
namespace {

inline uint64_t bits_of(__m256i low, __m256i high) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
           static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

inline __m256i equal_to(__m256i v, char c) {
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

// first <= v <= last, for bytes.
inline __m256i in_range(__m256i v, uint8_t first, uint8_t last) {
    const __m256i moved = _mm256_sub_epi8(v, _mm256_set1_epi8(static_cast<char>(first)));
    const __m256i width = _mm256_set1_epi8(static_cast<char>(last - first));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(moved, width), moved);
}

struct Avx2 {
    template <Family family>
    static Masks classify(const uint8_t* p) {
        constexpr Rules rules = rules_of(family);
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32));
        const __m256i lower_case = _mm256_set1_epi8(0x20);
        Masks m;
        m.ascii = ~bits_of(a, b);
        m.letters = bits_of(in_range(_mm256_or_si256(a, lower_case), 'a', 'z'),
                            in_range(_mm256_or_si256(b, lower_case), 'a', 'z'));
        m.numbers = bits_of(in_range(a, '0', '9'), in_range(b, '0', '9'));
        m.blanks = bits_of(equal_to(a, ' '), equal_to(b, ' '));
        m.spaces = m.blanks | bits_of(in_range(a, 9, 13), in_range(b, 9, 13));
        m.quotes = 0;
        m.upper = 0;
        m.breaks = 0;
        m.slashes = 0;
        if constexpr (rules.contractions != Contractions::none)
            m.quotes = bits_of(equal_to(a, '\''), equal_to(b, '\''));
        if constexpr (rules.words == Words::cased) m.upper = bits_of(in_range(a, 'A', 'Z'), in_range(b, 'A', 'Z'));
        if constexpr (rules.breaks) {
            m.breaks = bits_of(_mm256_or_si256(equal_to(a, '\n'), equal_to(a, '\r')),
                               _mm256_or_si256(equal_to(b, '\n'), equal_to(b, '\r')));
        }
        if constexpr (rules.slashes) m.slashes = bits_of(equal_to(a, '/'), equal_to(b, '/'));
        return m;
    }

    // Eight at a time, so that the number of bits decides few branches; `ends` has room for all 64.
    static size_t store(uint64_t starts, size_t pos, size_t* ends) {
        const size_t count = static_cast<size_t>(_mm_popcnt_u64(starts));
        for (; starts != 0; ends += 8) {
            for (uint32_t i = 0; i < 8; ++i) {
                ends[i] = pos + static_cast<size_t>(_tzcnt_u64(starts));
                starts &= starts - 1;
            }
        }
        return count;
    }
};

}  // namespace

ScanFunction avx2_scanner(Family family) {
    switch (family) {
        case Family::whole:
            break;
        case Family::gpt2:
            return scan_windows<Avx2, Family::gpt2>;
        case Family::cl100k:
            return scan_windows<Avx2, Family::cl100k>;
        case Family::llama3:
            return scan_windows<Avx2, Family::llama3>;
        case Family::qwen2:
            return scan_windows<Avx2, Family::qwen2>;
        case Family::o200k:
            return scan_windows<Avx2, Family::o200k>;
        case Family::tekken:
            return scan_windows<Avx2, Family::tekken>;
    }
    return scalar_scanner(family);
}

}  // namespace crayon

#endif
