#include "bpe/spaced_pairs.h"

#include <algorithm>

#include "support/bits.h"
#include "support/target.h"

namespace crayon {
namespace {

uint64_t load(const uint8_t* p) {
    uint64_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

uint16_t pair_at(const uint8_t* p) {
    uint16_t pair;
    std::memcpy(&pair, p, sizeof pair);
    return pair;
}

// How to read a character, by the high half of its first byte. The values are the shift of its four bytes, the mask of
// its last byte's bits, and the mask of the whole.
//    0xxxxxxx                             kAscii
//    110xxxxx 10xxxxxx                    {16, 0x3F, 0x7FF}
//    1110xxxx 10xxxxxx 10xxxxxx           {8, 0x3F, 0xFFFF}
//    11110xxx 10xxxxxx 10xxxxxx 10xxxxxx  {0, 0x3F, 0x1FFFFF}
struct CharShape {
    uint32_t shift, low, mask;
};
constexpr CharShape kAscii = {24, 0x7F, 0x7F}, kNoChar = {0, 0, 0};
constexpr CharShape kCharShapes[16] = {kAscii,
                                       kAscii,
                                       kAscii,
                                       kAscii,
                                       kAscii,
                                       kAscii,
                                       kAscii,
                                       kAscii,
                                       kNoChar,
                                       kNoChar,
                                       kNoChar,
                                       kNoChar,
                                       {16, 0x3F, 0x7FF},
                                       {16, 0x3F, 0x7FF},
                                       {8, 0x3F, 0xFFFF},
                                       {0, 0x3F, 0x1FFFFF}};

// Reads four bytes, without branches.
uint32_t code_point_at(const uint8_t* p) {
    const CharShape& shape = kCharShapes[p[0] >> 4];
    const uint32_t bytes =
        (uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | uint32_t(p[3])) >> shape.shift;
    return ((bytes & shape.low) | (bytes >> 2 & 0xFC0) | (bytes >> 4 & 0x3F000) | (bytes >> 6 & 0x1C0000)) & shape.mask;
}

}  // namespace

SpacedPairs::SpacedPairs(const CharPairs& pairs, CpuLevel level) : pairs_(pairs), masks_(pair_masks_scalar) {
#if CRAYON_X86_64
    if (level == CpuLevel::avx512) masks_ = pair_masks_avx512;
#endif
    (void)level;
    const bool in_planes = masks_ != pair_masks_scalar;
    ascii_.resize(in_planes ? kAsciiPlanes : kAsciiPairs);
    for (uint32_t before = 0; before < 128; ++before)
        for (uint32_t after = 0; after < 128; ++after) {
            const uint8_t bytes[2] = {uint8_t(before), uint8_t(after)};
            if (!joins(before, after)) continue;
            if (in_planes)
                ascii_[before / 8 * 128 + after] |= uint8_t(1 << before % 8);
            else
                ascii_[pair_at(bytes)] = 1;
        }
}

PairMasks pair_masks_scalar(const uint8_t* ascii, const uint8_t* p) {
    constexpr size_t kBytes = 64;
    uint8_t joined[kBytes];
    for (size_t i = 0; i < kBytes; ++i) joined[i] = ascii[pair_at(p + i - 1) & 0x7F7F];
    PairMasks masks{};
    for (size_t i = 0; i < kBytes; i += 8) {
        masks.joined |= lowest_bits_of_bytes(load(joined + i)) << i;
        const uint64_t eight = load(p + i);
        masks.high |= lowest_bits_of_bytes(eight >> 7) << i;
        masks.continuations |= lowest_bits_of_bytes(eight >> 7 & ~(eight >> 6)) << i;
    }
    return masks;
}

uint64_t SpacedPairs::cuts(Bytes text, size_t at, size_t size, uint32_t* last) const {
    // Holds the byte before, the last bytes of a text, and zeros to read after its last character.
    uint8_t room[1 + kBytes + 3] = {};
    const uint8_t* p = text.data + at;
    if (text.size - at < kBytes + 3) {
        std::memcpy(room, p - 1, std::min(text.size - at, kBytes + 2) + 1);
        p = room + 1;
    }
    const uint64_t valid = ~uint64_t(0) >> (kBytes - size);
    const PairMasks masks = masks_(ascii_.data(), p);
    const uint64_t high = masks.high;
    const uint64_t behind = (high << 1 | uint64_t(p[-1] >> 7)) & ~high;  // ASCII after a non-ASCII byte
    uint64_t cuts = ~masks.joined & ~(high | behind) & valid;
    uint32_t known = p[-1] < 0x80 ? p[-1] : *last;
    // Handles pairs with a non-ASCII character one by one.
    for (uint64_t left = ((high & ~masks.continuations) | behind) & valid; left != 0; left &= left - 1) {
        const size_t i = lowest_set_bit(left);
        const uint8_t byte_before = p[ptrdiff_t(i) - 1];
        const uint32_t before = byte_before < 0x80 ? byte_before : known;
        known = code_point_at(p + i);
        cuts |= uint64_t(!pairs_.joins_others(spelled(before), spelled(known))) << i;
    }
    *last = p[size - 1] < 0x80 ? p[size - 1] : known;
    return cuts;
}

}  // namespace crayon
