// The passes over a block of words, on every instruction set, against looking at one word after the other.
#include "bpe/word_block.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "crayon/support/cpu.h"

using namespace crayon;

namespace {

constexpr size_t kBlock = 256;
using Block = WordBlock<kBlock>;

// What make_keys gives a word, from a copy with room behind it.
WordKey plain_key(Bytes word) {
    uint8_t bytes[16] = {};
    std::copy_n(word.data, std::min<size_t>(word.size, 16), bytes);
    return key_at(bytes, word.size);
}

void fill(std::mt19937* rng, const std::vector<WordKey>& keys, WordCache* cache) {
    for (const WordKey& key : keys) {
        if (key.hi >> 56 == 0 || (*rng)() % 3 == 0) continue;
        const uint32_t ids[kWordIds] = {uint32_t((*rng)()), 2, 3, 4};
        cache->insert(WordCache::hash(key) >> cache->shift(), make_word_entry(key, ids, 1 + (*rng)() % kWordIds));
        cache->grow_if_crowded();
    }
}

template <typename Words>
void check_block(Bytes text, size_t n, Words words, const WordCache& cache, const WordKernels& kernels) {
    const auto block = std::make_unique<Block>();
    block->make_keys(text, n, words, cache, kernels);
    for (size_t i = 0; i < n; ++i) {
        const WordKey key = plain_key(text.slice(words.start(i), words.end(i)));
        CHECK(block->keys[i].lo == key.lo && block->keys[i].hi == key.hi);
        CHECK(block->buckets[i] == WordCache::hash(key) >> cache.shift());
    }
    const size_t n_missed = block->look_up(n, cache, kernels);
    size_t missed = 0;
    for (size_t i = 0; i < n; ++i) {
        const WordEntry* const bucket = cache.buckets()[block->buckets[i]].entries;
        const bool newer = word_matches(bucket[0], block->keys[i]), older = word_matches(bucket[1], block->keys[i]);
        if (newer || older) {
            CHECK(block->entries[i] == bucket + !newer);
        } else {
            CHECK(missed < n_missed && block->missed[missed] == i);
            ++missed;
        }
    }
    CHECK(missed == n_missed);
}

}  // namespace

TEST(a_block_finds_what_the_cache_has) {
    std::mt19937 rng(4);
    for (int round = 0; round < 400; ++round) {
        std::string text;
        std::vector<size_t> ends{0};
        const uint32_t letters = 1 + rng() % 4;
        for (size_t n = rng() % (kBlock + 1); n > 0; --n) {
            const size_t size = rng() % 20 == 0 ? 300 : rng() % (rng() % 4 ? 6 : 20);  // some have none
            for (size_t i = 0; i < size; ++i) text += char(rng() % 9 == 0 ? rng() % 256 : 'a' + rng() % letters);
            ends.push_back(text.size());
        }
        std::vector<Piece> pieces;  // with gaps between them
        for (size_t i = 0; i + 1 < ends.size(); ++i) {
            const auto start = uint32_t(ends[i] + (rng() % 3 == 0 && ends[i] < ends[i + 1]));
            pieces.push_back({start, uint32_t(ends[i + 1])});
        }
        const Bytes bytes(text);
        std::vector<WordKey> keys;
        for (size_t i = 0; i + 1 < ends.size(); ++i) keys.push_back(plain_key(bytes.slice(ends[i], ends[i + 1])));
        for (const Piece& piece : pieces) keys.push_back(plain_key(bytes.slice(piece.start, piece.end)));
        WordCache cache;
        fill(&rng, keys, &cache);
        for (const CpuLevel level : available_cpu_levels()) {
            check_block(bytes, ends.size() - 1, TouchingWords{ends.data()}, cache, word_kernels(level));
            check_block(bytes, pieces.size(), PieceWords{pieces.data()}, cache, word_kernels(level));
        }
    }
}
