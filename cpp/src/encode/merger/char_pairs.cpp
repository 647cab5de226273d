#include "encode/merger/char_pairs.h"

#include <algorithm>

#include "crayon/unicode/unicode.h"

namespace crayon {
namespace {

constexpr size_t kBitsPerPair = 16;

bool is_power_of_two(size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

}  // namespace

CharPairs::CharPairs(Bytes section) : words(reinterpret_cast<const uint64_t*>(section.data)) {
    const size_t bits = (section.size / sizeof(uint64_t) - kFixedWords) * 64;
    shift = 64;
    while ((size_t(1) << (64 - shift)) < bits) --shift;
}

bool is_char_pairs_size(size_t bytes) {
    const size_t words = bytes / sizeof(uint64_t);
    return bytes % sizeof(uint64_t) == 0 && words > CharPairs::kFixedWords &&
           is_power_of_two(words - CharPairs::kFixedWords);
}

std::vector<uint64_t> build_char_pairs(const std::vector<std::string_view>& strings, bool text_only) {
    std::vector<uint64_t> ascii(CharPairs::kAsciiWords, 0), others;
    for (const std::string_view text : strings) {
        const Bytes bytes(text);
        uint32_t before = 0;
        for (const uint8_t* p = bytes.begin(); p < bytes.end();) {
            const Decoded c = decode_utf8(p, bytes.end());
            if (p != bytes.begin()) {
                const uint32_t bit = before << 7 | c.code_point;
                if ((before | c.code_point) < 128)
                    ascii[bit >> 6] |= uint64_t(1) << (bit & 63);
                else
                    others.push_back(pair_key(before, c.code_point));
            }
            before = c.code_point;
            p += c.size;
        }
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    uint32_t log2 = 6;
    while ((size_t(1) << log2) < others.size() * kBitsPerPair) ++log2;
    std::vector<uint64_t> words = std::move(ascii);
    words.push_back(text_only ? CharPairs::kTextOnly : 0);
    words.resize(CharPairs::kFixedWords + (size_t(1) << log2) / 64, 0);
    for (const uint64_t key : others) {
        const uint64_t bit = pair_hash(key, 64 - log2);
        words[CharPairs::kFixedWords + (bit >> 6)] |= uint64_t(1) << (bit & 63);
    }
    return words;
}

}  // namespace crayon
