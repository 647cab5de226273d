// Vectors of NEON (window.h, utf8_blocks.h).
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "simd/window.h"

namespace crayon {
namespace {

// 16 bytes of text, or a mask of 16 bytes that are each all ones or all zeros.
struct Neon {
    static constexpr size_t kSize = 16;
    static constexpr size_t kShortest = 8;  // see scan_window.h
    uint8x16_t v;

    static Neon load(const uint8_t* p) { return {vld1q_u8(p)}; }
    void store(uint8_t* to) const { vst1q_u8(to, v); }
    static Neon all(uint8_t byte) { return {vdupq_n_u8(byte)}; }
    Neon operator|(Neon other) const { return {vorrq_u8(v, other.v)}; }
    Neon operator&(Neon other) const { return {vandq_u8(v, other.v)}; }
    Neon operator^(Neon other) const { return {veorq_u8(v, other.v)}; }

    Neon equal(uint8_t byte) const { return {vceqq_u8(v, all(byte).v)}; }
    Neon at_least(uint8_t byte) const { return {vcgeq_u8(v, all(byte).v)}; }
    Neon in_range(uint8_t first, uint8_t last) const {
        return {vcleq_u8(vsubq_u8(v, all(first).v), all(static_cast<uint8_t>(last - first)).v)};
    }
    Neon has(uint8_t flag) const { return {vtstq_u8(v, all(flag).v)}; }
    Neon high() const { return at_least(0x80); }
    // Masks each byte with the bit of its place, and adds neighbours.
    static uint64_t bits(const Neon (&masks)[4]) {
        constexpr uint8_t kPlaces[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
        const Neon places = load(kPlaces);
        const uint8x16_t low = vpaddq_u8((masks[0] & places).v, (masks[1] & places).v);
        const uint8x16_t high = vpaddq_u8((masks[2] & places).v, (masks[3] & places).v);
        const uint8x16_t sums = vpaddq_u8(low, high);
        return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
    }
    bool is_ascii() const { return vmaxvq_u8(v) < 0x80; }
    bool any() const { return vmaxvq_u8(v) != 0; }

    Neon look_up(const uint8_t (&table)[16]) const { return {vqtbl1q_u8(vld1q_u8(table), v)}; }
    struct Rows {
        uint8x16x4_t part;
        explicit Rows(const uint8_t* p) : part{{vld1q_u8(p), vld1q_u8(p + 16), vld1q_u8(p + 32), vld1q_u8(p + 48)}} {}
        Neon at(Neon of) const { return {vqtbl4q_u8(part, (of & all(0x3F)).v)}; }
    };

    // The high half of each byte.
    Neon high_half() const { return {vshrq_n_u8(v, 4)}; }
    // Subtracts, but not below 0.
    Neon less(uint8_t byte) const { return {vqsubq_u8(v, all(byte).v)}; }
    // Shifts up by n bytes, with the last bytes of `before` in front.
    template <int n>
    Neon after(Neon before) const {
        return {vextq_u8(before.v, v, 16 - n)};
    }

    static constexpr auto store_places = store_one_by_one;
};

// Eight code points of 16 bits.
struct NeonWords {
    uint16x8_t v;

    static NeonWords load(const uint8_t* p) { return {vmovl_u8(vld1_u8(p))}; }
    static NeonWords load(const uint16_t* p) { return {vld1q_u16(p)}; }
    static NeonWords all(uint16_t word) { return {vdupq_n_u16(word)}; }
    NeonWords operator|(NeonWords other) const { return {vorrq_u16(v, other.v)}; }
    NeonWords operator&(NeonWords other) const { return {vandq_u16(v, other.v)}; }
    NeonWords shifted_by_2() const { return {vshlq_n_u16(v, 2)}; }
    NeonWords above(uint16_t least) const { return {vcgtq_u16(v, all(least).v)}; }
    NeonWords select(NeonWords yes, NeonWords no) const { return {vbslq_u16(v, yes.v, no.v)}; }
    size_t bits() const {
        constexpr uint16_t kPlaces[8] = {1, 2, 4, 8, 16, 32, 64, 128};
        return vaddvq_u16((*this & load(kPlaces)).v);
    }
    bool any_at_least(uint16_t power_of_two) const { return vmaxvq_u16(v) >= power_of_two; }
    bool any_surrogate() const { return vmaxvq_u16(vceqq_u16(vshrq_n_u16(v, 11), all(0xD800 >> 11).v)) != 0; }
    void write_ascii(uint8_t* to) const { vst1_u8(to, vmovn_u16(v)); }
    void write(const uint8_t* shuffle, uint8_t* to) const {
        vst1q_u8(to, vqtbl1q_u8(vreinterpretq_u8_u16(v), vld1q_u8(shuffle)));
    }
};

// Four code points of 32 bits.
struct NeonLongs {
    uint32x4_t v;

    static NeonLongs load(const uint32_t* p) { return {vld1q_u32(p)}; }
    static NeonLongs low(NeonWords words) { return {vmovl_u16(vget_low_u16(words.v))}; }
    static NeonLongs high(NeonWords words) { return {vmovl_u16(vget_high_u16(words.v))}; }
    static NeonLongs all(uint32_t word) { return {vdupq_n_u32(word)}; }
    NeonLongs operator|(NeonLongs other) const { return {vorrq_u32(v, other.v)}; }
    NeonLongs operator&(NeonLongs other) const { return {vandq_u32(v, other.v)}; }
    NeonLongs operator^(NeonLongs other) const { return {veorq_u32(v, other.v)}; }
    template <int n>
    NeonLongs shifted() const {
        return {vshlq_n_u32(v, n)};
    }
    NeonLongs above(uint32_t least) const { return {vcgtq_u32(v, all(least).v)}; }
    NeonLongs select(NeonLongs yes, NeonLongs no) const { return {vbslq_u32(v, yes.v, no.v)}; }
    // One bit for each lane of two masks: `low` in bits 0 to 3, `high` from bit 4 on.
    static size_t bits(NeonLongs low, NeonLongs high) {
        constexpr uint32_t kLow[4] = {1, 2, 4, 8}, kHigh[4] = {16, 32, 64, 128};
        return vaddvq_u32(((low & load(kLow)) | (high & load(kHigh))).v);
    }
    bool any_not_unicode() const {
        const uint32x4_t surrogate = vceqq_u32(vshrq_n_u32(v, 11), all(0xD800 >> 11).v);
        return vmaxvq_u32(vorrq_u32(surrogate, above(0x10FFFF).v)) != 0;
    }
    void write(const uint8_t* shuffle, uint8_t* to) const { NeonWords{vreinterpretq_u16_u32(v)}.write(shuffle, to); }
};

}  // namespace
}  // namespace crayon
