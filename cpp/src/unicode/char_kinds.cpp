#include "unicode/char_kinds.h"

#include <cstring>

#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

#include "unicode/char_kind_tables.inc"

constexpr uint8_t kSeveral = 255;

constexpr uint32_t kind_of(uint32_t code_point) {
    return kKinds[kKindBlocks[kKindBlockOf[code_point / 64] * 64 + code_point % 64]];
}

inline uint32_t kind_at(uint32_t code_point) {
    return code_point < kKindLimit ? kind_of(code_point) : 0;
}

constexpr std::array<uint16_t, 128> ascii_kinds() {
    std::array<uint16_t, 128> kinds{};
    for (uint32_t c = 0; c < 128; ++c) kinds[c] = uint16_t(kind_of(c));
    return kinds;
}

constexpr bool printable_has_none() {
    for (uint32_t c = 0x20; c < 0x7F; ++c)
        if (kind_of(c) != 0) return false;
    return true;
}
static_assert(printable_has_none(), "find_kinds passes over printable ASCII");

constexpr uint64_t kOnes = 0x0101010101010101u;
constexpr uint64_t kHigh = 0x80 * kOnes;

// Skips bytes from 0x20 to 0x7E.
const uint8_t* skip_printable(const uint8_t* p, const uint8_t* end) {
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        if ((word | (word + kOnes) | (word - 0x20 * kOnes)) & kHigh) break;
    }
    while (p < end && *p >= 0x20 && *p < 0x7F) ++p;
    return p;
}

}  // namespace

const std::array<uint16_t, 128> kAsciiKinds = ascii_kinds();

uint32_t char_kind(uint32_t code_point) {
    return kind_at(code_point);
}

const uint8_t* find_kinds(uint32_t kinds, const uint8_t* p, const uint8_t* end) {
    while (p < end) {
        if (*p < 0x80) {
            if (kAsciiKinds[*p] & kinds) return p;
            p = skip_printable(p + 1, end);
        } else {
            const Character c = character_at(p, end);
            if (kind_at(c.code_point) & kinds) return p;
            p += c.size;
        }
    }
    return end;
}

uint32_t kinds_in(Bytes text) {
    uint32_t kinds = 0;
    for (const uint8_t* p = text.begin(); p < text.end();) {
        if (*p < 0x80) {
            kinds |= kAsciiKinds[*p];
            p = skip_printable(p + 1, text.end());
        } else {
            const Character c = character_at(p, text.end());
            kinds |= kind_at(c.code_point);
            p += c.size;
        }
    }
    return kinds;
}

uint32_t lower_of(uint32_t code_point) {
    if (code_point >= kLowerLimit) return code_point;
    const uint8_t number = kLowerBlocks[kLowerBlockOf[code_point / 64] * 64 + code_point % 64];
    if (number == kSeveral) return kSeveralLower;
    return uint32_t(int32_t(code_point) + kLowerDifferences[number]);
}

}  // namespace crayon
