#include "encode/merger/spaced_pairs.h"

#include <algorithm>

#include "support/bits.h"

namespace crayon {
namespace {

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

SpacedPairs::SpacedPairs(const CharPairs& pairs, const Kernels& kernels)
    : pairs_(pairs), ascii_(kernels.ascii_pairs.size), masks_(kernels.ascii_pairs.masks) {
    for (uint8_t before = 0; before < 128; ++before)
        for (uint8_t after = 0; after < 128; ++after)
            if (joins(before, after)) kernels.ascii_pairs.add(ascii_.data(), before, after);
}

uint64_t SpacedPairs::cuts(Bytes text, size_t at, size_t size, uint32_t* last) const {
    // A padded copy for the end of the text: the byte before `at`, the text's last bytes, and zeros after them.
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
