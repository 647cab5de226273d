// Window masks with NEON, which every AArch64 has.
#include "scan/scan_kernels.h"

#if CRAYON_AARCH64

#include <arm_neon.h>

#include "scan/scan_multibyte.h"

namespace crayon {
namespace {

// One bit per byte that is all ones or all zeros: masks each byte with the bit of its place, and adds neighbours.
inline uint64_t bits_of(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    constexpr uint8_t kPlaces[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t places = vld1q_u8(kPlaces);
    const uint8x16_t low = vpaddq_u8(vandq_u8(a, places), vandq_u8(b, places));
    const uint8x16_t high = vpaddq_u8(vandq_u8(c, places), vandq_u8(d, places));
    const uint8x16_t sums = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

// first <= v <= last, per byte.
inline uint8x16_t in_range(uint8x16_t v, uint8_t first, uint8_t last) {
    return vcleq_u8(vsubq_u8(v, vdupq_n_u8(first)), vdupq_n_u8(static_cast<uint8_t>(last - first)));
}

struct Neon {
    static constexpr size_t kShortest = 8;

    using Bytes = uint8x16x4_t;

    static Bytes load(const uint8_t* p, size_t left) {
        uint8_t room[kWindow];
        p = padded(p, left, room);
        Bytes bytes;
        for (int i = 0; i < 4; ++i) bytes.val[i] = vld1q_u8(p + 16 * i);
        return bytes;
    }

    // The mask of the bytes for which `test` gives all ones.
    template <typename Test>
    static uint64_t where(const Bytes& v, Test test) {
        return bits_of(test(v.val[0]), test(v.val[1]), test(v.val[2]), test(v.val[3]));
    }

    static uint64_t not_ascii(const Bytes& v) {
        if (vmaxvq_u8(vorrq_u8(vorrq_u8(v.val[0], v.val[1]), vorrq_u8(v.val[2], v.val[3]))) < 0x80) return 0;
        return at_least(v, 0x80);
    }

    template <Family family>
    static void classify(const Bytes& v, Masks& m) {
        constexpr Rules rules = rules_of(family);
        m.letters = where(v, [](uint8x16_t x) { return in_range(vorrq_u8(x, vdupq_n_u8(0x20)), 'a', 'z'); });
        m.numbers = where(v, [](uint8x16_t x) { return in_range(x, '0', '9'); });
        m.blanks = equal(v, ' ');
        m.spaces = m.blanks | where(v, [](uint8x16_t x) { return in_range(x, 9, 13); });
        m.quotes = rules.contractions != Contractions::none ? equal(v, '\'') : 0;
        m.upper = 0;
        m.breaks = 0;
        if constexpr (rules.words == Words::cased)
            m.upper = where(v, [](uint8x16_t x) { return in_range(x, 'A', 'Z'); });
        if constexpr (rules.breaks) {
            m.breaks = where(
                v, [](uint8x16_t x) { return vorrq_u8(vceqq_u8(x, vdupq_n_u8('\n')), vceqq_u8(x, vdupq_n_u8('\r'))); });
        }
        m.slashes = rules.slashes ? equal(v, '/') : 0;
    }

    static uint64_t equal(const Bytes& v, uint8_t byte) {
        return where(v, [byte](uint8x16_t x) { return vceqq_u8(x, vdupq_n_u8(byte)); });
    }
    static uint64_t at_least(const Bytes& v, uint8_t byte) {
        return where(v, [byte](uint8x16_t x) { return vcgeq_u8(x, vdupq_n_u8(byte)); });
    }
    static Bytes rows(const Bytes& v, const uint8_t* row) {
        const uint8x16_t flags = vld1q_u8(kClassFlags.of);
        Bytes entries, found;
        for (int i = 0; i < 4; ++i) {
            entries.val[i] = vqtbl1q_u8(flags, vandq_u8(vld1q_u8(row + 16 * i), vdupq_n_u8(kClassMask)));
        }
        for (int i = 0; i < 4; ++i) {
            found.val[i] = vqtbl4q_u8(entries, vandq_u8(v.val[i], vdupq_n_u8(0x3F)));
        }
        return found;
    }
    static uint64_t has(const Bytes& flags, uint8_t flag) {
        return where(flags, [flag](uint8x16_t x) { return vtstq_u8(x, vdupq_n_u8(flag)); });
    }

    template <Family family>
    static uint32_t classify_multibyte(const uint8_t* p, const Bytes& v, uint64_t not_ascii, uint32_t size, Masks& m) {
        return classify_blocks<Neon, family>(p, v, not_ascii, size, m);
    }

    static size_t store(uint64_t starts, size_t pos, size_t* ends) {
        size_t count = 0;
        for (; starts != 0; starts &= starts - 1) ends[count++] = pos + lowest_bit(starts);
        return count;
    }
};

}  // namespace

ScanFunction neon_scanner(Family family) {
    return scanner_of<Neon>(family);
}

}  // namespace crayon

#endif
