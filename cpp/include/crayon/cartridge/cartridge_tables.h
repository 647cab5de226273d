// The layout of a cartridge's lookup tables, shared by the CPU engine and the GPU kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/support/device_code.h"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace crayon {

enum TokenFlag : uint8_t {
    kPresent = 1,   // the id has a token (ids may have holes).
    kRaw = 2,       // The token's string is not in the byte-level alphabet, so token_bytes holds the string itself.
                    // Text never encodes to it.
    kModel = 4,     // the model's vocabulary has it
    kAdded = 8,     // an added token
    kSpecial = 16,  // a special token.
    kWhole = 32,    // A pretoken of exactly these bytes encodes to this one id.
    kMerged = 64,   // Merging these bytes gives this one id; same as kWhole without kIgnoreMerges.
};

constexpr uint32_t kNoRank = 0xFFFFFFFFu;
// A slot of the pair table, from the highest bit. All ones if empty.
// | 63 to 43 | 42 to 22 | 21 to 0 |
// | left     | right    | rank    |
constexpr uint64_t kEmptyPair = ~uint64_t(0);
constexpr uint32_t kIdBits = 21;
constexpr uint32_t kRankBits = 22;
constexpr uint32_t kMaxIds = (1u << kIdBits) - 1;
constexpr uint32_t kMaxMerges = (1u << kRankBits) - 1;

CRAYON_DEVICE inline uint64_t pair_key(uint32_t left, uint32_t right) {
    return uint64_t(left) << kIdBits | right;
}
// Fibonacci hashing: key * 2^64 / phi. The upper bits depend on all bits of the key.
CRAYON_DEVICE inline uint64_t key_hash(uint64_t key) {
    return key * 0x9E3779B97F4A7C15ull;
}
// The first slot to probe; linear probing follows. `shift` = 64 - log2(slots).
CRAYON_DEVICE inline uint64_t pair_hash(uint64_t key, uint32_t shift) {
    return key_hash(key) >> shift;
}

// The slot of a pair in the perfect hash of reachable merges. The upper bits of key_hash(key) choose the pilot. `shift`
// = 32 - log2(slots).
CRAYON_DEVICE inline uint32_t reachable_slot(uint64_t hash, uint32_t pilot, uint32_t shift) {
    return uint32_t(hash >> 12) * (2 * pilot + 1) >> shift;
}

// The longest probe chain that a reader accepts. Real vocabularies have chains of some hundred slots. A crafted file
// with longer ones would make lookups so slow that the process seems to hang.
constexpr size_t kLongestChain = 1024;

constexpr size_t kWordKeyBytes = 15;
constexpr size_t kWordIds = 4;
// A pretoken of up to 15 bytes and its one to four ids. All zero if empty.
//    key[0]          key[1]
//    bytes 0 to 7    bytes 8 to 14, zero padded; byte 15: nnnn____ number of ids, ____llll length
struct WordEntry {
    uint64_t key[2];
    uint32_t ids[kWordIds];
};
static_assert(sizeof(WordEntry) == 32, "two word entries to a cache line");
struct WordKey {
    uint64_t lo, hi;  // WordEntry::key without the number of ids
};
constexpr uint64_t kWordKeyMask = 0x0FFFFFFFFFFFFFFFull;  // key[1] without the number of ids

// Folds the 128-bit product of the two salted key words.
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

// The section byte_cuts: a table of this many 64-bit words, then a filter whose number of words is a power of two.
constexpr size_t kByteCutsPartWords = 192 * 256 / 64;
inline bool is_byte_cuts_size(size_t words) {
    const size_t filter = words - kByteCutsPartWords;
    return words > kByteCutsPartWords && (filter & (filter - 1)) == 0 && filter <= size_t(1) << 32;
}

}  // namespace crayon
