#include "bpe/spaced_pairs.h"

#include "support/bits.h"

namespace crayon {
namespace {

uint64_t load(const uint8_t* p) {
    uint64_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

}  // namespace

uint64_t SpacedPairs::cuts(Bytes text, size_t at, size_t size, uint32_t* last) const {
    uint8_t room[kBytes + 1] = {};  // the byte before, and the last bytes of a text
    const uint8_t* p = text.data + at;
    if (size < kBytes) {
        std::memcpy(room, p - 1, size + 1);
        p = room + 1;
    }
    uint8_t joined[kBytes];
    for (size_t i = 0; i < kBytes; ++i) {
        uint16_t pair;
        std::memcpy(&pair, p + i - 1, sizeof pair);
        joined[i] = ascii_[pair & 0x7F7F];
    }
    const uint64_t valid = ~uint64_t(0) >> (kBytes - size);
    uint64_t joins_before = 0, high = 0, continuations = 0;
    for (size_t i = 0; i < kBytes; i += 8) {
        joins_before |= lowest_bits_of_bytes(load(joined + i)) << i;
        const uint64_t eight = load(p + i);
        high |= lowest_bits_of_bytes(eight >> 7) << i;
        continuations |= lowest_bits_of_bytes(eight >> 7 & ~(eight >> 6)) << i;
    }
    uint64_t cuts = ~joins_before & valid;
    const uint64_t behind = (high << 1 | uint64_t(p[-1] >> 7)) & ~high;  // ASCII behind what is not
    if (p[-1] < 0x80) *last = p[-1];
    // What is not ASCII, and what follows it, one by one.
    cuts &= ~(high | behind);
    for (uint64_t left = ((high & ~continuations) | behind) & valid; left != 0; left &= left - 1) {
        const size_t i = lowest_set_bit(left);
        const uint32_t before = p[ptrdiff_t(i) - 1] < 0x80 ? p[ptrdiff_t(i) - 1] : *last;
        const uint32_t now = char_at(text, at + i).code_point;
        cuts |= uint64_t(!joins(before, now)) << i;
        *last = now;
    }
    if (p[size - 1] < 0x80) *last = p[size - 1];
    return cuts;
}

}  // namespace crayon
