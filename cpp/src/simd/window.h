// Some bytes of text, usually 64, in vectors of an instruction set, and masks with one bit for each byte. The unnamed
// namespace is explained in class_lookup.h.
//
// A vector provides:
// - kSize: its bytes
// - load(p), store(p), all(byte), and the operators |, & and ^
// - equal(byte), at_least(byte), in_range(first, last), has(flag), high(): a mask of its bytes, unsigned; has(flag)
//   finds bytes with a bit, and high() bytes that are not ASCII
// - bits(masks): one bit for each byte of all masks of a window
// - is_ascii(), any(): whether no byte has its high bit, and whether a bit is set
// - look_up(table): the entries of 16 for bytes below 16
// - Rows(p).at(v): the entries of 64 for the low six bits of each byte
// Scalar vectors lack the look-ups, and give undefined masks for bytes that are not ASCII.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "scan/scan_masks.h"

namespace crayon {
namespace {

template <typename V, size_t n_parts = kWindow / V::kSize>
struct Window {
    static constexpr size_t kParts = n_parts, kSize = kParts * V::kSize;
    V parts[kParts];

    static Window load(const uint8_t* p) {
        Window w;
        for (size_t i = 0; i < kParts; ++i) w.parts[i] = V::load(p + i * V::kSize);
        return w;
    }
    // The first `left` bytes, then zeros.
    static Window load(const uint8_t* p, size_t left) {
        if (left >= kSize) return load(p);
        if constexpr (kParts == 1) {
            return {{V::load(p, left)}};
        } else {
            uint8_t room[kSize] = {};
            std::memcpy(room, p, left);
            return load(room);
        }
    }
    void store(uint8_t* to) const {
        for (size_t i = 0; i < kParts; ++i) parts[i].store(to + i * V::kSize);
    }

    // The bytes for which test(vector) gives a mask.
    template <typename Test>
    uint64_t where(Test test) const {
        decltype(test(parts[0])) masks[kParts];
        for (size_t i = 0; i < kParts; ++i) masks[i] = test(parts[i]);
        return V::bits(masks);
    }
    uint64_t equal(uint8_t byte) const {
        return where([byte](V v) { return v.equal(byte); });
    }
    uint64_t at_least(uint8_t byte) const {
        return where([byte](V v) { return v.at_least(byte); });
    }
    uint64_t in_range(uint8_t first, uint8_t last) const {
        return where([first, last](V v) { return v.in_range(first, last); });
    }
    uint64_t has(uint8_t flag) const {
        return where([flag](V v) { return v.has(flag); });
    }
    uint64_t not_ascii() const {
        if constexpr (kParts > 2) {
            V any = parts[0];
            for (size_t i = 1; i < kParts; ++i) any = any | parts[i];
            if (any.is_ascii()) return 0;
        }
        return where([](V v) { return v.high(); });
    }
};

// Writes pos + i for each bit i. Returns their number.
inline size_t store_one_by_one(uint64_t bits, size_t pos, size_t* places) {
    size_t count = 0;
    for (; bits != 0; bits &= bits - 1) places[count++] = pos + lowest_bit(bits);
    return count;
}

}  // namespace
}  // namespace crayon
