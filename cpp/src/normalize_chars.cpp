#include "normalize_chars.h"

namespace crayon {
namespace {

#include "normalize_tables.inc"

constexpr uint8_t kSeveral = 255;

constexpr uint32_t kind_of(uint32_t code_point) {
    return kKinds[kKindBlocks[kKindBlockOf[code_point / 64] * 64 + code_point % 64]];
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

}  // namespace

const std::array<uint16_t, 128> kAsciiKinds = ascii_kinds();

uint32_t char_kind(uint32_t code_point) {
    return code_point < kKindLimit ? kind_of(code_point) : 0;
}

uint32_t lower_of(uint32_t code_point) {
    if (code_point >= kLowerLimit) return code_point;
    const uint8_t number = kLowerBlocks[kLowerBlockOf[code_point / 64] * 64 + code_point % 64];
    if (number == kSeveral) return kSeveralLower;
    return uint32_t(int32_t(code_point) + kLowerDifferences[number]);
}

}  // namespace crayon
