// How a cartridge's tables are read, by the CPU's engine and by the kernels of a GPU alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/support/device_code.h"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace crayon {

enum TokenFlag : uint8_t {
    kPresent = 1,   // the id has a token (ids may have holes)
    kRaw = 2,       // the bytes are the string itself, not what it spells: no text becomes it
    kModel = 4,     // in the model's vocabulary
    kAdded = 8,     // an added token
    kSpecial = 16,  // a special one
    kWhole = 32,    // a pretoken of exactly these bytes becomes this one id
    kMerged = 64,   // merging these bytes makes this one id; without kIgnoreMerges the same as kWhole
};

constexpr uint32_t kNoRank = 0xFFFFFFFFu;
// left:21 right:21 rank:22, from the top; all ones when empty.
constexpr uint64_t kEmptyPair = ~uint64_t(0);
constexpr uint32_t kIdBits = 21;
constexpr uint32_t kRankBits = 22;
constexpr uint32_t kMaxIds = (1u << kIdBits) - 1;
constexpr uint32_t kMaxMerges = (1u << kRankBits) - 1;

CRAYON_DEVICE inline uint64_t pair_key(uint32_t left, uint32_t right) {
    return uint64_t(left) << kIdBits | right;
}
// Fibonacci hashing: key * 2^64 / phi, whose upper bits depend on all of the key.
CRAYON_DEVICE inline uint64_t key_hash(uint64_t key) {
    return key * 0x9E3779B97F4A7C15ull;
}
// `shift` = 64 - log2(slots). Then linear probing.
CRAYON_DEVICE inline uint64_t pair_hash(uint64_t key, uint32_t shift) {
    return key_hash(key) >> shift;
}

// The table of the merges that happen: the upper bits of key_hash(key) name a pilot, and this a pair's only slot.
// `shift` = 32 - log2(slots).
CRAYON_DEVICE inline uint32_t reachable_slot(uint64_t hash, uint32_t pilot, uint32_t shift) {
    return uint32_t(hash >> 12) * (2 * pilot + 1) >> shift;
}

// Hashing spreads real vocabularies so that a search in either table meets some hundred full places at most. A file
// that was made to collide would pass for a hang.
constexpr size_t kLongestChain = 1024;

constexpr size_t kWordKeyBytes = 15;
constexpr size_t kWordIds = 4;
// A pretoken of up to 15 bytes and the up to four ids it becomes. `key` is the bytes, zero padded, and in the last byte
// the length (low nibble) and the number of ids (high nibble); all zero when empty.
struct WordEntry {
    uint64_t key[2];
    uint32_t ids[kWordIds];
};
static_assert(sizeof(WordEntry) == 32, "two word entries to a cache line");
constexpr uint64_t kWordKeyMask = 0x0FFFFFFFFFFFFFFFull;  // of key[1]: all but the number of ids

// Both halves of the 128-bit product of the two salted key words, folded.
CRAYON_DEVICE inline uint64_t word_hash(uint64_t lo, uint64_t hi) {
    const uint64_t a = lo ^ 0x9E3779B97F4A7C15ull, b = hi ^ 0xD6E8FEB86659FD93ull;
#if defined(_MSC_VER)
    uint64_t high;
    const uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#else
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#endif
}

// The section byte_cuts: so many words of fixed size, then a filter of a power of two of words.
constexpr size_t kByteCutsPartWords = 192 * 256 / 64;
inline bool is_byte_cuts_size(size_t words) {
    const size_t filter = words - kByteCutsPartWords;
    return words > kByteCutsPartWords && (filter & (filter - 1)) == 0 && filter <= size_t(1) << 32;
}

}  // namespace crayon
