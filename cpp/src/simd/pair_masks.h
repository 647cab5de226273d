// Finds ASCII bytes that merging can join to the byte before. The table has 1 for each pair of bytes that can be
// joined; its index is the two bytes of the text, loaded as one number. The unnamed namespace is explained in
// class_lookup.h.
#pragma once

#include <cstring>

#include "crayon/simd/kernels.h"
#include "support/bits.h"

namespace crayon {
namespace {

uint16_t pair_at(const uint8_t* p) {
    uint16_t pair;
    std::memcpy(&pair, p, sizeof pair);
    return pair;
}

void add_pair(uint8_t* table, uint8_t before, uint8_t after) {
    const uint8_t bytes[2] = {before, after};
    table[pair_at(bytes)] = 1;
}

PairMasks pair_masks(const uint8_t* table, const uint8_t* p) {
    constexpr size_t kBytes = 64;
    const auto load = [](const uint8_t* from) {
        uint64_t value;
        std::memcpy(&value, from, sizeof value);
        return value;
    };
    uint8_t joined[kBytes];
    for (size_t i = 0; i < kBytes; ++i) joined[i] = table[pair_at(p + i - 1) & 0x7F7F];
    PairMasks masks{};
    for (size_t i = 0; i < kBytes; i += 8) {
        masks.joined |= lowest_bits_of_bytes(load(joined + i)) << i;
        const uint64_t eight = load(p + i);
        masks.high |= lowest_bits_of_bytes(eight >> 7) << i;
        masks.continuations |= lowest_bits_of_bytes(eight >> 7 & ~(eight >> 6)) << i;
    }
    return masks;
}

constexpr AsciiPairs kScalarPairs = {128 << 8, add_pair, pair_masks};

}  // namespace
}  // namespace crayon
