// A thread's caches of pretokens: what is found is what was kept, whatever was lost.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bpe/piece_ring.h"
#include "bpe/word_cache.h"
#include "check.h"

using namespace crayon;

namespace {

std::vector<uint32_t> ids_of(const PieceRing& ring, uint64_t at) {
    std::vector<uint32_t> ids(ring.count(at) + 3);  // copy() may write three words more
    ids.resize(ring.copy(at, ids.data()));
    return ids;
}

// A piece and its ids, by number: all sizes up to the longest, ids that fit half words and ids that do not.
std::string piece_of(uint32_t n) {
    std::string piece = std::to_string(n) + "/";
    piece.resize(piece.size() + n * 7 % (PieceRing::kLongest - piece.size() + 1), char('a' + n % 26));
    return piece;
}
std::vector<uint32_t> ids_of_piece(uint32_t n) {
    std::vector<uint32_t> ids(1 + n % piece_of(n).size());
    for (uint32_t i = 0; i < ids.size(); ++i) ids[i] = (n + i) % 0x10000 + (n % 2 ? 0x10000 : 0);
    return ids;
}
uint64_t keep(PieceRing* ring, uint32_t n) {
    const std::string piece = piece_of(n);
    const std::vector<uint32_t> ids = ids_of_piece(n);
    return ring->insert(piece, PieceRing::hash(piece), ids.data(), ids.size());
}
uint64_t find(const PieceRing& ring, uint32_t n) {
    const std::string piece = piece_of(n);
    return ring.find(piece, PieceRing::hash(piece));
}

WordEntry word(uint32_t n) {
    const std::string text = std::to_string(n);
    const uint8_t* const begin = reinterpret_cast<const uint8_t*>(text.data());
    return make_word_entry(word_key(begin, text.size(), begin + text.size()), &n, 1);
}
WordKey key_of(const WordEntry& entry) {
    return {entry.key[0], entry.key[1] & kWordKeyMask};
}
const WordEntry* find(const WordCache& cache, const WordEntry& entry) {
    return cache.find(WordCache::hash(key_of(entry)) >> cache.shift(), key_of(entry));
}

}  // namespace

TEST(an_empty_ring_has_nothing) {
    const PieceRing ring;
    CHECK(find(ring, 1) == PieceRing::kNone);
    CHECK(!ring.is_live(PieceRing::kNone));
    ring.prefetch_slots(12345);
}

TEST(a_ring_keeps_ids_wide_and_narrow) {
    PieceRing ring;
    for (uint32_t n = 0; n < 100; ++n) {
        const uint64_t at = keep(&ring, n);
        CHECK(at != PieceRing::kNone && find(ring, n) == at);
        CHECK(ids_of(ring, at) == ids_of_piece(n));
    }
}

TEST(a_piece_is_found_by_its_bytes_and_not_by_its_hash) {
    PieceRing ring;
    const std::string piece = "twenty bytes of text", other = "twenty bytes of tent";
    const uint32_t ids[] = {1, 2, 3};
    const uint64_t hash = PieceRing::hash(piece);
    const uint64_t at = ring.insert(piece, hash, ids, 3);
    CHECK(ring.find(piece, hash) == at);
    CHECK(ring.find(other, hash) == PieceRing::kNone);
    CHECK(ring.find(piece + "s", hash) == PieceRing::kNone);
}

// As it grows, and round its end several times.
TEST(a_ring_that_wraps_has_the_newest_and_never_a_wrong_one) {
    PieceRing ring;
    uint64_t words = 0, first = 0;
    uint32_t n = 0, lost = 0;
    for (; words < 3 * PieceRing::kMostWords; ++n) {
        const uint64_t at = keep(&ring, n);
        if (n == 0) first = at;
        words += 1 + piece_of(n).size() / 4 + ids_of_piece(n).size() / 2;
        CHECK(ring.is_live(at) && find(ring, n) == at && ids_of(ring, at) == ids_of_piece(n));
        if (n < 100) continue;
        const uint32_t before = n - 1 - n % 100;
        const uint64_t old = find(ring, before);
        if (old == PieceRing::kNone)
            ++lost;  // from a bucket that was full
        else
            CHECK(ids_of(ring, old) == ids_of_piece(before));
    }
    CHECK(lost < n / 100);
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t at = find(ring, i);
        if (at == PieceRing::kNone) continue;
        ++found;
        CHECK(ids_of(ring, at) == ids_of_piece(i));
    }
    CHECK(!ring.is_live(first) && find(ring, 0) == PieceRing::kNone);
    CHECK(found > n / 8 && found < n / 2);  // a third of it fits
}

TEST(a_word_cache_finds_what_it_has_and_nothing_else) {
    WordCache cache(4 * WordCache::kFirstBuckets);
    for (uint32_t n = 0; n < 100; ++n) {
        const WordEntry entry = word(n);
        CHECK(find(cache, entry) == nullptr);
        cache.insert(WordCache::hash(key_of(entry)) >> cache.shift(), entry);
        CHECK(find(cache, entry) != nullptr && find(cache, entry)->ids[0] == n);
    }
}

TEST(a_full_bucket_moves_its_older_entry_beside_it) {
    WordCache cache(4 * WordCache::kFirstBuckets);
    std::vector<WordEntry> same;  // entries of one bucket
    const uint64_t at = 5;
    for (uint32_t n = 0; same.size() < 5; ++n)
        if (WordCache::hash(key_of(word(n))) >> cache.shift() == at) same.push_back(word(n));
    for (size_t i = 0; i < 4; ++i) cache.insert(at, same[i]);
    for (size_t i = 0; i < 4; ++i) CHECK(find(cache, same[i]) != nullptr);
    CHECK(cache.buckets()[at].entries[0].ids[0] == same[3].ids[0]);
    CHECK(cache.find_displaced(at, key_of(same[0])) != nullptr);
    CHECK(cache.find_displaced(at, key_of(same[3])) == nullptr);
    // Twice is once.
    cache.insert(at, same[3]);
    CHECK(cache.buckets()[at].entries[1].ids[0] == same[2].ids[0]);
    // The fifth is one too many for both buckets.
    cache.insert(at, same[4]);
    size_t found = 0;
    for (const WordEntry& entry : same) found += find(cache, entry) != nullptr;
    CHECK(found == 4 && find(cache, same[4]) != nullptr && find(cache, same[3]) != nullptr);
}

TEST(a_crowded_word_cache_grows_to_its_limit_and_keeps_its_words) {
    const uint64_t most = 16 * WordCache::kFirstBuckets;
    WordCache cache(most);
    uint32_t last = cache.shift();
    const uint32_t n = uint32_t(8 * most);
    for (uint32_t i = 0; i < n; ++i) {
        const WordEntry entry = word(i);
        cache.insert(WordCache::hash(key_of(entry)) >> cache.shift(), entry);
        cache.grow_if_crowded();
        CHECK(cache.shift() <= last);
        last = cache.shift();
        const WordEntry* const found = find(cache, entry);
        CHECK(found != nullptr && found->ids[0] == i);
    }
    CHECK(uint64_t(1) << (64 - cache.shift()) == most);
    uint64_t found = 0;
    for (uint32_t i = 0; i < n; ++i) {
        const WordEntry* const entry = find(cache, word(i));
        if (entry == nullptr) continue;
        ++found;
        CHECK(entry->ids[0] == i && word_ids(*entry) == 1);
    }
    CHECK(found > most && found <= 2 * most);
}
