// The kernels without instruction-set extensions: eight bytes in a word.
#include <cstring>

#include "crayon/simd/kernels.h"
#include "crayon/unicode/unicode.h"
#include "simd/json_line.h"
#include "simd/pair_masks.h"
#include "simd/scan_window.h"
#include "support/bits.h"

namespace crayon {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080u;

// Eight bytes of text in one word. Tests clear the high bits first and return their results in them, so sums and
// differences never carry into the next byte. (Warren, Hacker's Delight, 2-18.)
struct EightBytes {
    static constexpr size_t kSize = 8;
    static constexpr size_t kShortest = 16;  // see scan_window.h
    uint64_t v;

    static EightBytes load(const uint8_t* p) {
        EightBytes bytes;
        std::memcpy(&bytes.v, p, sizeof bytes.v);
        return bytes;
    }
    static constexpr EightBytes all(uint8_t byte) { return {0x0101010101010101u * byte}; }
    EightBytes operator|(EightBytes other) const { return {v | other.v}; }

    EightBytes equal(uint8_t byte) const { return {kHighBits - (low() ^ all(byte).v)}; }
    EightBytes in_range(uint8_t first, uint8_t last) const {
        const uint64_t at_least = low() + all(static_cast<uint8_t>(0x80 - first)).v;
        const uint64_t beyond = low() + all(static_cast<uint8_t>(0x7F - last)).v;
        return {at_least & ~beyond};
    }
    EightBytes high() const { return *this; }
    static uint64_t bits(const EightBytes (&masks)[8]) {
        uint64_t found = 0;
        for (uint32_t i = 0; i < 8; ++i) found |= lowest_bits_of_bytes(masks[i].v >> 7) << 8 * i;
        return found;
    }
    bool is_ascii() const { return (v & kHighBits) == 0; }

    static constexpr auto store_places = store_one_by_one;

  private:
    uint64_t low() const { return v & ~kHighBits; }
};

}  // namespace

const Kernels kScalarKernels = {
    CpuLevel::scalar, scanners_of<EightBytes>(), utf8_error, {}, {}, read_json_line<JsonWordFinder>, {}, kScalarPairs,
    nullptr};

}  // namespace crayon
