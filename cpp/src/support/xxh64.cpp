// Follows the xxHash specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
#include "crayon/support/xxh64.h"

#include <cstring>

namespace crayon {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ull;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Full;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ull;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ull;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ull;

uint64_t rotl(uint64_t x, int r) {
    return x << r | x >> (64 - r);
}

template <typename T>
T load(const uint8_t* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

uint64_t lane(uint64_t acc, uint64_t input) {
    return rotl(acc + input * kPrime2, 31) * kPrime1;
}
uint64_t join(uint64_t acc, uint64_t value) {
    return (acc ^ lane(0, value)) * kPrime1 + kPrime4;
}

}  // namespace

uint64_t xxh64(Bytes data, uint64_t seed) {
    const uint8_t* p = data.begin();
    const uint8_t* const end = data.end();
    uint64_t h;
    if (data.size >= 32) {
        uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
        for (; end - p >= 32; p += 32) {
            a = lane(a, load<uint64_t>(p));
            b = lane(b, load<uint64_t>(p + 8));
            c = lane(c, load<uint64_t>(p + 16));
            d = lane(d, load<uint64_t>(p + 24));
        }
        h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
        h = join(join(join(join(h, a), b), c), d);
    } else {
        h = seed + kPrime5;
    }
    h += data.size;
    for (; end - p >= 8; p += 8) h = rotl(h ^ lane(0, load<uint64_t>(p)), 27) * kPrime1 + kPrime4;
    if (end - p >= 4) {
        h = rotl(h ^ load<uint32_t>(p) * kPrime1, 23) * kPrime2 + kPrime3;
        p += 4;
    }
    for (; p != end; ++p) h = rotl(h ^ *p * kPrime5, 11) * kPrime1;
    h = (h ^ h >> 33) * kPrime2;
    h = (h ^ h >> 29) * kPrime3;
    return h ^ h >> 32;
}

}  // namespace crayon
