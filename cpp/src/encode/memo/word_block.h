// Looks words (pretokens, or a model's pieces of text) up in a thread's WordCache, a block of words at a time. No pass
// branches on the text, so the processor's cache misses for a block overlap.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "crayon/simd/kernels.h"
#include "crayon/support/bytes.h"
#include "encode/memo/memo.h"
#include "encode/memo/word_cache.h"
#include "encode/memo/word_table.h"
#include "support/prefetch.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace crayon {

// How to make a key from 16 bytes, by the size of the word; index 16 is for longer words. `lo` and `hi` mask the word's
// own bytes, `size` sets the last byte to the size. The key of "the" is 74 68 65 00 00 00 00 00 and 00 00 00 00 00 00
// 00 03. Empty and longer words get a key that matches no entry: its size is 0 but, unlike the key of an empty entry,
// it is not all zero.
struct alignas(32) KeyShape {
    uint64_t lo, hi, size;
};
constexpr KeyShape key_shape(uint64_t size) {
    return {size == 0   ? 0
            : size >= 8 ? ~uint64_t(0)
                        : (uint64_t(1) << 8 * size) - 1,
            size <= 8 ? 0 : (uint64_t(1) << 8 * (size - 8)) - 1, size << 56};
}
constexpr KeyShape kNoShape = {0, 0, 1};
constexpr KeyShape kKeyShapes[kWordKeyBytes + 2] = {
    kNoShape,      key_shape(1),  key_shape(2),  key_shape(3),  key_shape(4),  key_shape(5),
    key_shape(6),  key_shape(7),  key_shape(8),  key_shape(9),  key_shape(10), key_shape(11),
    key_shape(12), key_shape(13), key_shape(14), key_shape(15), kNoShape};

// The key of the word p[0, size). 16 bytes at `p` must be readable.
inline WordKey key_at(const uint8_t* p, size_t size) {
    const KeyShape& shape = kKeyShapes[size <= kWordKeyBytes ? size : 16];
    uint64_t half[2];
    std::memcpy(half, p, 16);
    return {half[0] & shape.lo, (half[1] & shape.hi) | shape.size};
}

// Tells which entries of a bucket have the key, as 1 or 0. Uses arithmetic, because compilers turn a comparison into a
// branch.
struct KeyMatch {
    uint64_t newer, older;
};
#if defined(__SSE2__)
inline KeyMatch match_key(const WordEntry* bucket, const WordKey& key) {
    const __m128i wanted = _mm_load_si128(reinterpret_cast<const __m128i*>(&key));
    const __m128i mask = _mm_set_epi32(int32_t(kWordKeyMask >> 32), -1, -1, -1);
    const auto matches = [&](const WordEntry& entry) {
        const __m128i found = _mm_and_si128(mask, _mm_load_si128(reinterpret_cast<const __m128i*>(entry.key)));
        const __m128i same = _mm_cmpeq_epi32(found, wanted);
        return uint64_t(uint32_t(_mm_movemask_ps(_mm_castsi128_ps(same))) + 1) >> 4;
    };
    return {matches(bucket[0]), matches(bucket[1])};
}
#else
inline KeyMatch match_key(const WordEntry* bucket, const WordKey& key) {
    const auto matches = [&](const WordEntry& entry) {
        const uint64_t differs = (entry.key[0] ^ key.lo) | (entry.key[1] ^ key.hi) << 4;
        return ((differs | (0 - differs)) >> 63) ^ 1;
    };
    return {matches(bucket[0]), matches(bucket[1])};
}
#endif

// Whether words are in order and disjoint, as all passes require.
template <typename Words>
bool are_in_order(Words words, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (words.start(i) > words.end(i) || (i > 0 && words.end(i - 1) > words.start(i))) return false;
    return true;
}

template <size_t kBlock>
struct WordBlock {
    static constexpr size_t kRecent = 256;

    alignas(16) WordKey keys[kBlock];
    uint32_t buckets[kBlock];          // of the cache
    const WordEntry* entries[kBlock];  // in the cache, or in `made`
    uint32_t missed[kBlock];           // indices of words that the cache lacks
    // Entries of missed words. Entries of earlier blocks stay valid, so a word that is missed twice in short succession
    // is encoded once.
    WordEntry made[kBlock] = {};
    uint16_t recent[kRecent] = {};  // by hash: index into `made`

    // Makes the keys of `n` words of `text`, in order, and prefetches their buckets of a WordCache.
    template <typename Words>
    void make_keys(Bytes text, size_t n, Words words, WordBuckets in, const WordKernels& kernels) {
        assert(are_in_order(words, n) && (n == 0 || words.end(n - 1) <= text.size));
        const auto add = [&](size_t i, const uint8_t* p) {
            const WordKey key = key_at(p, words.end(i) - words.start(i));
            const uint64_t bucket = WordCache::hash(key) >> in.shift;
            keys[i] = key;
            buckets[i] = uint32_t(bucket);
            prefetch(in.entries + 2 * bucket);
        };
        // Words in the text's last 16 bytes are read from a padded copy.
        size_t n_inside = n;
        while (n_inside > 0 && text.size - words.start(n_inside - 1) < 16) --n_inside;
        for (size_t i = some_keys(text, n_inside, words, in, kernels); i < n_inside; ++i)
            add(i, text.data + words.start(i));
        if (n_inside == n) return;
        uint8_t last[32] = {};
        const size_t begin = text.size < 16 ? 0 : text.size - 16;
        if (text.size > 0) std::memcpy(last, text.data + begin, text.size - begin);
        for (size_t i = n_inside; i < n; ++i) add(i, last + (words.start(i) - begin));
    }

    // Finds the words in the cache. Returns how many are missing. Has no branches, because hits and positions in a
    // bucket are hard to predict. A missing word therefore gets an entry, too.
    size_t look_up(size_t n, const WordCache& cache, const WordKernels& kernels) {
        const WordCache::Bucket* const in = cache.buckets();
        if (kernels.look_up != nullptr) return kernels.look_up(n, in->entries, keys, buckets, entries, missed);
        size_t n_missed = 0;
        for (size_t i = 0; i < n; ++i) {
            const WordEntry* const bucket = in[buckets[i]].entries;
            const KeyMatch match = match_key(bucket, keys[i]);
            entries[i] = bucket + (match.newer ^ 1);
            missed[n_missed] = uint32_t(i);
            n_missed += (match.newer | match.older) ^ 1;
        }
        return n_missed;
    }

    // Call this before each block. It switches to generations of the memo that other threads began, and drops entries
    // that name freed records.
    void refresh(MemoReader& memo, WordCache& cache) {
        if (!memo.refresh()) return;
        cache.drop_unless(memo);
        for (WordEntry& entry : made)
            if (word_ids(entry) == kRecorded && !memo.has_record(entry)) entry = {};
    }

    // Puts new entries into the cache. Call it after the block is written, because an insertion may replace an entry
    // that was found.
    void keep_made(size_t n_missed, WordCache* cache) {
        for (size_t j = 0; j < n_missed; ++j)
            if (made[j].key[1] << 4 >> 60 != 0) cache->insert(buckets[missed[j]], made[j]);
        cache->grow_if_crowded();
    }

  private:
    size_t some_keys(Bytes text, size_t n, TouchingWords words, WordBuckets in, const WordKernels& kernels) {
        return kernels.keys_of_touching ? kernels.keys_of_touching(text.data, words, n, in, keys, buckets) : 0;
    }
    size_t some_keys(Bytes text, size_t n, PieceWords words, WordBuckets in, const WordKernels& kernels) {
        return kernels.keys_of_pieces ? kernels.keys_of_pieces(text.data, words, n, in, keys, buckets) : 0;
    }
};

}  // namespace crayon
