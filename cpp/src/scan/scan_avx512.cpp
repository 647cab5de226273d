// Window masks with AVX-512 (F, BW, VL, DQ, VBMI, VBMI2).
#include "scan/scan_kernels.h"

#if CRAYON_X86_64

// GCC's own header initializes a variable with itself to mean "undefined", and GCC 12 warns about it (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "scan/scan_multibyte.h"

namespace crayon {
namespace {

enum : uint8_t {
    kLetter = 1,
    kUpper = 2,
    kNumber = 4,
    kBlank = 8,
    kSpace = 16,
    kBreak = 32,
    kQuote = 64,
    kSlash = 128,
};

struct AsciiFlags {
    alignas(64) uint8_t of[128];
};

constexpr AsciiFlags ascii_flags() {
    AsciiFlags flags{};
    for (int c = 'a'; c <= 'z'; ++c) flags.of[c] = kLetter;
    for (int c = 'A'; c <= 'Z'; ++c) flags.of[c] = kLetter | kUpper;
    for (int c = '0'; c <= '9'; ++c) flags.of[c] = kNumber;
    for (int c = 9; c <= 13; ++c) flags.of[c] = kSpace;
    flags.of[int{'\n'}] |= kBreak;
    flags.of[int{'\r'}] |= kBreak;
    flags.of[int{' '}] = kSpace | kBlank;
    flags.of[int{'\''}] = kQuote;
    flags.of[int{'/'}] = kSlash;
    return flags;
}

constexpr AsciiFlags kAsciiFlags = ascii_flags();

// Each flag 64 times: a memory operand costs less than a broadcast in each window.
struct FlagVectors {
    alignas(64) uint8_t of[8][64];
};

constexpr FlagVectors flag_vectors() {
    FlagVectors vectors{};
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 64; ++j) vectors.of[i][j] = static_cast<uint8_t>(1 << i);
    }
    return vectors;
}

constexpr FlagVectors kFlagVectors = flag_vectors();

template <uint8_t flag>
inline uint64_t with_flag(__m512i flags) {
    int i = 0;
    while (1 << i != flag) ++i;
    return _mm512_test_epi8_mask(flags, _mm512_load_si512(kFlagVectors.of[i]));
}

struct Counting {
    alignas(64) uint8_t of[64];
};

constexpr Counting counting() {
    Counting c{};
    for (int i = 0; i < 64; ++i) c.of[i] = static_cast<uint8_t>(i);
    return c;
}

constexpr Counting kCounting = counting();

inline __m512i all(uint8_t byte) {
    return _mm512_set1_epi8(static_cast<char>(byte));
}

struct Avx512 {
    static constexpr size_t kShortest = 4;

    using Bytes = __m512i;

    static Bytes load(const uint8_t* p, size_t left) {
        if (left >= kWindow) return _mm512_loadu_si512(p);
        return _mm512_maskz_loadu_epi8((uint64_t{1} << left) - 1, p);
    }

    static uint64_t not_ascii(Bytes v) { return _mm512_movepi8_mask(v); }

    template <Family family>
    static void classify(Bytes v, Masks& m) {
        constexpr Rules rules = rules_of(family);
        const __m512i flags =
            _mm512_permutex2var_epi8(_mm512_load_si512(kAsciiFlags.of), v, _mm512_load_si512(kAsciiFlags.of + 64));
        m.letters = with_flag<kLetter>(flags);
        m.numbers = with_flag<kNumber>(flags);
        m.blanks = with_flag<kBlank>(flags);
        m.spaces = with_flag<kSpace>(flags);
        m.quotes = rules.contractions != Contractions::none ? with_flag<kQuote>(flags) : 0;
        m.upper = rules.words == Words::cased ? with_flag<kUpper>(flags) : 0;
        m.breaks = rules.breaks ? with_flag<kBreak>(flags) : 0;
        m.slashes = rules.slashes ? with_flag<kSlash>(flags) : 0;
    }

    static uint64_t equal(Bytes v, uint8_t byte) { return _mm512_cmpeq_epi8_mask(v, all(byte)); }
    static uint64_t at_least(Bytes v, uint8_t byte) { return _mm512_cmpge_epu8_mask(v, all(byte)); }
    static __m512i rows(Bytes v, const uint8_t* row) {
        const __m512i classes = _mm512_and_si512(_mm512_permutexvar_epi8(v, _mm512_loadu_si512(row)), all(kClassMask));
        const __m128i flags = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kClassFlags.of));
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(flags), classes);
    }
    static uint64_t has(__m512i flags, uint8_t flag) { return _mm512_test_epi8_mask(flags, all(flag)); }

    template <Family family>
    static uint32_t classify_multibyte(const uint8_t* p, Bytes v, uint64_t not_ascii, uint32_t size, Masks& m) {
        return classify_blocks<Avx512, family>(p, v, not_ascii, size, m);
    }

    // Compresses positions as bytes, then widens eight at a time; `ends` has room for all 64.
    static size_t store(uint64_t starts, size_t pos, size_t* ends) {
        const size_t count = static_cast<size_t>(_mm_popcnt_u64(starts));
        const __m512i base = _mm512_set1_epi64(static_cast<long long>(pos));
        __m512i places = _mm512_maskz_compress_epi8(starts, _mm512_load_si512(kCounting.of));
        const __m128i first = _mm512_castsi512_si128(places);
        _mm512_storeu_si512(ends, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(first)));
        _mm512_storeu_si512(ends + 8, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(_mm_srli_si128(first, 8))));
        places = _mm512_alignr_epi64(places, places, 1);
        for (size_t done = 16; done < count; done += 8) {
            places = _mm512_alignr_epi64(places, places, 1);
            const __m128i next = _mm512_castsi512_si128(places);
            _mm512_storeu_si512(ends + done, _mm512_add_epi64(base, _mm512_cvtepu8_epi64(next)));
        }
        return count;
    }
};

}  // namespace

ScanFunction avx512_scanner(Family family) {
    return scanner_of<Avx512>(family);
}

}  // namespace crayon

#endif
