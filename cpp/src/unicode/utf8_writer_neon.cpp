#include "unicode/utf8_writer.h"

#if CRAYON_AARCH64

#include <arm_neon.h>

#include "unicode/utf8_blocks.h"

namespace crayon {
namespace {

struct Neon {
    using Words = uint16x8_t;
    using Longs = uint32x4_t;

    static Words load(const uint8_t* p) { return vmovl_u8(vld1_u8(p)); }
    static Words load(const uint16_t* p) { return vld1q_u16(p); }
    static Longs load(const uint32_t* p) { return vld1q_u32(p); }
    static Longs low(Words v) { return vmovl_u16(vget_low_u16(v)); }
    static Longs high(Words v) { return vmovl_u16(vget_high_u16(v)); }

    static bool any_at_least(Words v, uint16_t power_of_two) { return vmaxvq_u16(v) >= power_of_two; }
    static bool any_surrogate(Words v) {
        return vmaxvq_u16(vceqq_u16(vshrq_n_u16(v, 11), vdupq_n_u16(0xD800 >> 11))) != 0;
    }
    static bool any_not_unicode(Longs v) {
        const Longs surrogate = vceqq_u32(vshrq_n_u32(v, 11), vdupq_n_u32(0xD800 >> 11));
        return vmaxvq_u32(vorrq_u32(surrogate, vcgtq_u32(v, vdupq_n_u32(0x10FFFF)))) != 0;
    }

    static void write_ascii(Words v, uint8_t* to) { vst1_u8(to, vmovn_u16(v)); }
    // Code points of one or two bytes.
    static size_t write_two(Words v, uint8_t* to) {
        constexpr uint16_t kPlaces[8] = {1, 2, 4, 8, 16, 32, 64, 128};
        const Words is_two = vcgtq_u16(v, vdupq_n_u16(0x7F));
        const Words last = vandq_u16(v, vdupq_n_u16(0x3F));
        const Words lead = vandq_u16(vshlq_n_u16(v, 2), vdupq_n_u16(0x1F00));
        const Words two = vorrq_u16(vorrq_u16(last, lead), vdupq_n_u16(0xC080));
        const size_t key = vaddvq_u16(vandq_u16(is_two, vld1q_u16(kPlaces)));
        return write(vreinterpretq_u8_u16(vbslq_u16(is_two, two, v)), kShufflesOf8, key, to);
    }
    // Code points of any size.
    static size_t write_four(Longs v, uint8_t* to) {
        constexpr uint32_t kOdd[4] = {1, 2, 4, 8}, kThree[4] = {16, 32, 64, 128};
        const Longs parts = vorrq_u32(vorrq_u32(vandq_u32(v, vdupq_n_u32(0x3F)),  //
                                                vandq_u32(vshlq_n_u32(v, 2), vdupq_n_u32(0x3F00))),
                                      vorrq_u32(vandq_u32(vshlq_n_u32(v, 4), vdupq_n_u32(0x3F0000)),
                                                vandq_u32(vshlq_n_u32(v, 6), vdupq_n_u32(0x07000000))));
        const Longs two = above(v, 0x7F), three = above(v, 0x7FF), four = above(v, 0xFFFF);
        Longs marks = vbslq_u32(three, vdupq_n_u32(0xE08080), vdupq_n_u32(0xC080));
        marks = vbslq_u32(four, vdupq_n_u32(0xF0808080), marks);
        const Longs bytes = vbslq_u32(two, vorrq_u32(parts, marks), v);
        const Longs odd = vorrq_u32(vbicq_u32(two, three), four);
        const size_t key = vaddvq_u32(vorrq_u32(vandq_u32(odd, vld1q_u32(kOdd)), vandq_u32(three, vld1q_u32(kThree))));
        return write(vreinterpretq_u8_u32(bytes), kShufflesOf4, key, to);
    }

  private:
    static Longs above(Longs v, uint32_t least) { return vcgtq_u32(v, vdupq_n_u32(least)); }
    static size_t write(uint8x16_t v, const Utf8Shuffles& shuffles, size_t key, uint8_t* to) {
        vst1q_u8(to, vqtbl1q_u8(v, vld1q_u8(shuffles.bytes[key].data())));
        return shuffles.sizes[key];
    }
};

}  // namespace

const Utf8Writers kNeonUtf8Writers = utf8_writers_of<Neon>();

}  // namespace crayon

#endif
