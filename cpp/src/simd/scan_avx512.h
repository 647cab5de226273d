// The masks of ASCII bytes with AVX-512, which looks up the flags of 64 bytes at once.
#pragma once

#include "simd/avx512.h"
#include "simd/scan_window.h"

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
    alignas(64) uint8_t of[128] = {};

    constexpr AsciiFlags() {
        for (int c = 'a'; c <= 'z'; ++c) of[c] = kLetter;
        for (int c = 'A'; c <= 'Z'; ++c) of[c] = kLetter | kUpper;
        for (int c = '0'; c <= '9'; ++c) of[c] = kNumber;
        for (int c = 9; c <= 13; ++c) of[c] = kSpace;
        of[int{'\n'}] |= kBreak;
        of[int{'\r'}] |= kBreak;
        of[int{' '}] = kSpace | kBlank;
        of[int{'\''}] = kQuote;
        of[int{'/'}] = kSlash;
    }
};
constexpr AsciiFlags kAsciiFlags;

template <Family family>
inline void classify(const Window<Avx512>& bytes, Masks& m) {
    constexpr Rules rules = rules_of(family);
    const __m512i low = _mm512_load_si512(kAsciiFlags.of), high = _mm512_load_si512(kAsciiFlags.of + 64);
    const Avx512 flags{_mm512_permutex2var_epi8(low, bytes.parts[0].v, high)};
    m.letters = flags.has(kLetter);
    m.numbers = flags.has(kNumber);
    m.blanks = flags.has(kBlank);
    m.spaces = flags.has(kSpace);
    m.quotes = rules.contractions != Contractions::none ? flags.has(kQuote) : 0;
    m.upper = rules.words == Words::cased ? flags.has(kUpper) : 0;
    m.breaks = rules.breaks ? flags.has(kBreak) : 0;
    m.slashes = rules.slashes ? flags.has(kSlash) : 0;
}

}  // namespace
}  // namespace crayon
