// Window masks with AVX2.
#include "scan/scan_kernels.h"

#if CRAYON_X86_64

#include <immintrin.h>

#include "scan/scan_multibyte.h"

namespace crayon {
namespace {

inline uint64_t bits_of(__m256i low, __m256i high) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
           static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

inline __m256i equal_to(__m256i v, char c) {
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

// first <= v <= last, per byte.
inline __m256i in_range(__m256i v, uint8_t first, uint8_t last) {
    const __m256i moved = _mm256_sub_epi8(v, _mm256_set1_epi8(static_cast<char>(first)));
    const __m256i width = _mm256_set1_epi8(static_cast<char>(last - first));
    return _mm256_cmpeq_epi8(_mm256_min_epu8(moved, width), moved);
}

// Looks up the low six bits of each byte in a row of 64 entries.
inline __m256i look_up(__m256i v, const __m256i (&row)[4]) {
    const __m256i low = _mm256_and_si256(v, _mm256_set1_epi8(0x0F));
    const __m256i bit4 = _mm256_slli_epi16(v, 3);  // moved to the bit that a blend tests
    const __m256i bit5 = _mm256_slli_epi16(v, 2);
    const __m256i lower = _mm256_blendv_epi8(_mm256_shuffle_epi8(row[0], low), _mm256_shuffle_epi8(row[1], low), bit4);
    const __m256i upper = _mm256_blendv_epi8(_mm256_shuffle_epi8(row[2], low), _mm256_shuffle_epi8(row[3], low), bit4);
    return _mm256_blendv_epi8(lower, upper, bit5);
}

inline __m256i both_halves(const uint8_t* p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

struct Avx2 {
    static constexpr size_t kShortest = 8;

    struct Bytes {
        __m256i a, b;
    };

    static Bytes load(const uint8_t* p, size_t left) {
        uint8_t room[kWindow];
        p = padded(p, left, room);
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
    }

    static uint64_t not_ascii(const Bytes& v) { return bits_of(v.a, v.b); }

    template <Family family>
    static void classify(const Bytes& v, Masks& m) {
        constexpr Rules rules = rules_of(family);
        const __m256i a = v.a;
        const __m256i b = v.b;
        const __m256i lower_case = _mm256_set1_epi8(0x20);
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
    }

    static uint64_t equal(const Bytes& v, uint8_t byte) {
        return bits_of(equal_to(v.a, static_cast<char>(byte)), equal_to(v.b, static_cast<char>(byte)));
    }
    static uint64_t at_least(const Bytes& v, uint8_t byte) {
        const __m256i least = _mm256_set1_epi8(static_cast<char>(byte));
        return bits_of(_mm256_cmpeq_epi8(_mm256_max_epu8(v.a, least), v.a),
                       _mm256_cmpeq_epi8(_mm256_max_epu8(v.b, least), v.b));
    }
    static Bytes rows(const Bytes& v, const uint8_t* row) {
        const __m256i flags = both_halves(kClassFlags.of);
        const __m256i mask = _mm256_set1_epi8(kClassMask);
        __m256i entries[4];
        for (int i = 0; i < 4; ++i) {
            entries[i] = _mm256_shuffle_epi8(flags, _mm256_and_si256(both_halves(row + 16 * i), mask));
        }
        return {look_up(v.a, entries), look_up(v.b, entries)};
    }
    static uint64_t has(const Bytes& flags, uint8_t flag) {
        const __m256i wanted = _mm256_set1_epi8(static_cast<char>(flag));
        return bits_of(_mm256_cmpeq_epi8(_mm256_and_si256(flags.a, wanted), wanted),
                       _mm256_cmpeq_epi8(_mm256_and_si256(flags.b, wanted), wanted));
    }

    template <Family family>
    static uint32_t classify_multibyte(const uint8_t* p, const Bytes& v, uint64_t not_ascii, uint32_t size, Masks& m) {
        return classify_blocks<Avx2, family>(p, v, not_ascii, size, m);
    }

    // Stores eight at a time, so that the number of bits decides few branches; `ends` has room for all 64.
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
    return scanner_of<Avx2>(family);
}

}  // namespace crayon

#endif
