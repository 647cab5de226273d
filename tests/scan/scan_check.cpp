// Compares every scanner that this machine can run with the rules of scan_rules.h, applied one pretoken at a time.
//
//     scan_check [--texts N] [--seed N] [--every K] [FILE...]
//
// Texts are N generated ones, every K-th code point beside characters of each class, and the whole files.
// test_pretokenize.py compares the scanners with the references themselves. This program needs no Python, so that it
// also runs on another machine or under an emulator. Prints the compared levels; the exit status is 1 if any differ.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "checks.h"
#include "crayon/simd/kernels.h"
#include "scan/scan_rules.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

using Ends = std::vector<size_t>;

// Letters of all cases, marks, white space, numbers, punctuation, contractions, and invalid bytes.
// clang-format off
const char* const kPieces[] = {
    "a", "e", "Z", "AB", "ab", "Ab", "word", "HTML", "é", "É", "ß", "ж", "Ж", "дом", "ДОМ", "Σ", "σ", "ǅ", "ʰ", "ª",
    "א", "中", "中文字", "가", "한국", "힣", "\xED\x9E\xB0", "あ", "カ", "ｱ", "Ａ", "ａ", "ก", "ก็", "ह", "हिन्दी", "𝐀", "𐐨", "𠀀",
    "ſ", "\xCC\x81", "\xD2\x89", "\xEF\xB8\x8F", "\xF3\xA0\x84\x81", "\t", "\n", "\r\n", " ", "  ", "\xC2\xA0",
    "\xE3\x80\x80", "\xE2\x80\xA8", "\xC2\x85", "1", "12", "1234", "٣", "½", "Ⅷ", "𝟘", "!", "!!", "/", "\\", ".", ",",
    "'", "'s", "'S", "'t", "'re", "'LL", "'ve", "'ſ", "’", "“", "”", "—", "…", "。", "、", "，", "€", "䷀", "😀", "👨‍👩",
    "\xFF", "\xC3", "\xE4\xB8", "\xF0\x9F", "\xF0\x9F\x98", "\x80", "\xED\xA0\x80", "\xE0\x80\x80", "\xC0\x80",
    "\xF0\x80\x80\x80", "\xF5\x80\x80\x80", "\xF4\x90\x80\x80",
};
// clang-format on
constexpr size_t kPieceCount = std::size(kPieces);

template <Family family>
Ends twin(const std::string& text) {
    const uint8_t* const begin = reinterpret_cast<const uint8_t*>(text.data());
    const uint8_t* const end = begin + text.size();
    Ends ends;
    for (const uint8_t* p = begin; p < end;) {
        p = pretoken_end<family>(p, end);
        ends.push_back(static_cast<size_t>(p - begin));
    }
    return ends;
}

struct Twin {
    Family family;
    Ends (*ends)(const std::string& text);
};
constexpr Twin kTwins[] = {
    {Family::gpt2, twin<Family::gpt2>},     {Family::cl100k, twin<Family::cl100k>},
    {Family::llama3, twin<Family::llama3>}, {Family::qwen2, twin<Family::qwen2>},
    {Family::o200k, twin<Family::o200k>},   {Family::tekken, twin<Family::tekken>},
};

Ends scan(ScanFunction scanner, const std::string& text, size_t capacity) {
    // A copy of exactly this size, so that a memory checker sees reads beyond it.
    const std::vector<uint8_t> bytes(text.begin(), text.end());
    Ends ends, block(capacity);
    for (size_t pos = 0; pos < bytes.size(); pos = ends.back()) {
        const size_t count = scanner(bytes.data(), bytes.size(), pos, block.data(), capacity);
        if (count == 0) break;
        ends.insert(ends.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return ends;
}

size_t differences = 0;

void compare(const std::string& text, size_t capacity) {
    for (const Twin& one : kTwins) {
        const Ends expected = one.ends(text);
        for (const CpuLevel level : available_cpu_levels()) {
            const ScanFunction scanner = kernels_of(level).scanners.of(one.family);
            for (const size_t room : {capacity, size_t{256}}) {
                const Ends found = scan(scanner, text, room);
                if (found == expected || differences++ >= 5) continue;
                const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).second;
                const size_t start = at == expected.begin() ? 0 : *(at - 1);
                std::printf("DIFFERENT: %s, %s, room for %zu, text of %zu bytes, the pretoken at %zu:",  //
                            family_name(one.family), cpu_level_name(level), room, text.size(), start);
                for (size_t i = start; i < text.size() && i < start + 80; ++i) {
                    std::printf(" %02x", static_cast<uint8_t>(text[i]));
                }
                std::printf("\n");
            }
        }
    }
}

// A text of few or many pieces that begins at any position of a window.
std::string generated(std::mt19937_64& random) {
    const auto below = [&random](size_t n) { return static_cast<size_t>(random() % n); };
    const size_t kinds = below(2) == 0 ? kPieceCount : 1 + below(6);
    std::vector<const char*> chosen;
    for (size_t i = 0; i < kinds; ++i) chosen.push_back(kPieces[below(kPieceCount)]);
    std::string text = below(3) == 0 ? std::string(below(70), "a A1!\n"[below(6)]) : "";
    for (size_t count = below(70); count != 0; --count) {
        if (below(40) == 0) append_utf8(static_cast<uint32_t>(below(0x110000)), &text);
        const char* const piece = chosen[below(kinds)];
        for (size_t times = below(30) == 0 ? below(40) : 1; times != 0; --times) text += piece;
    }
    return text;
}

void compare_code_points(uint32_t step) {
    std::string text;
    for (uint32_t c = 0, n = 0; c < 0x110000; c += step) {
        std::string one;
        append_utf8(c, &one);
        for (const char* neighbour : {"a", "A1", "!", "\n", " ", "'", "中", "é", "\xE2\x80\x9C"})
            text += neighbour + one;
        if (++n % 64 == 0) {
            compare(text, 100);
            text.clear();
        }
    }
    compare(text, 100);
}

int run(int argc, char** argv) {
    size_t texts = 20000, seed = 1, every = 1;
    std::vector<std::string> files;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        size_t* const value = argument == "--texts"   ? &texts
                              : argument == "--seed"  ? &seed
                              : argument == "--every" ? &every
                                                      : nullptr;
        if (value == nullptr) {
            files.push_back(argument);
        } else if (++i < argc) {
            *value = std::strtoull(argv[i], nullptr, 10);
        }
    }
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < texts; ++i) compare(generated(random), 1 + random() % 80);
    if (every != 0) compare_code_points(static_cast<uint32_t>(every));
    for (const std::string& path : files) {
        std::ifstream file(path, std::ios::binary);
        if (!file) {
            std::printf("cannot read %s\n", path.c_str());
            return 2;
        }
        compare({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, 77);
    }
    return report(differences);
}

}  // namespace
}  // namespace crayon

int main(int argc, char** argv) {
    return crayon::run(argc, argv);
}
