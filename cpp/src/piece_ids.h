// A thread's bounded memory of short pieces and the ids that each becomes, and the loop that looks pieces up: in
// blocks, so that the cache misses of one block overlap.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "crayon/bytes.h"
#include "crayon/id_buffer.h"
#include "crayon/pre_tokenizers.h"
#include "word_table.h"

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace crayon {

// Full keys: a hash that collides costs time alone. Two tables of buckets of two, the newer entry first: up to 15 bytes
// and 4 ids (4 MiB), up to 31 bytes and 8 ids (2 MiB). Their pages are zero until used, so that a short-lived process
// does not pay for them.
class PieceIds {
  public:
    static constexpr size_t kBlock = 256;  // pieces looked up together
    static constexpr size_t kLongBytes = 31, kLongIds = 8;

    // Appends the ids of pieces of `text`, in order. `make(piece, out)` appends those of a piece that is not known.
    template <typename Make>
    void encode(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make) {
        for (; n > kBlock; pieces += kBlock, n -= kBlock) encode_block(text, pieces, kBlock, out, make);
        encode_block(text, pieces, n, out, make);
    }

  private:
    static constexpr uint64_t kShortBuckets = uint64_t(1) << 16, kLongBuckets = uint64_t(1) << 14;
    static constexpr uint32_t kElsewhere = 15;  // as a number of ids: too many, see the other table
    static constexpr size_t kLine = 64;         // bytes of a cache line

    // As in WordEntry, the last byte of the key holds what tells its size, and above that the number of ids.
    struct LongEntry {
        uint64_t key[4];
        uint32_t ids[kLongIds];
    };
    static_assert(sizeof(WordEntry) == 32 && sizeof(LongEntry) == 64, "entries do not straddle cache lines");

    struct LongKey {
        uint64_t words[4];
    };
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    template <typename Entry>
    using Table = std::unique_ptr<Entry[], Free>;

    template <typename Entry>
    static Table<Entry> make_table(uint64_t buckets) {
        // Large, so that the system gives zero pages.
        void* const p = std::calloc(2 * buckets * sizeof(Entry) + kLine, 1);
        if (p == nullptr) throw std::bad_alloc();
        return Table<Entry>(static_cast<Entry*>(p));
    }
    // The first entry at the start of a cache line.
    template <typename Entry>
    static Entry* aligned(const Table<Entry>& table) {
        const auto at = reinterpret_cast<uintptr_t>(table.get());
        return reinterpret_cast<Entry*>((at + kLine - 1) & ~uintptr_t(kLine - 1));
    }

    static void prefetch(const void* p) {
#if defined(_MSC_VER)
        _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#else
        __builtin_prefetch(p);
#endif
    }

    // word_key, without a branch on the size.
    static WordKey short_key(const uint8_t* p, size_t size, const uint8_t* limit) {
        if (limit - p < 16) return word_key(p, size, limit);
        uint64_t half[2];
        std::memcpy(half, p, 16);
        const uint64_t keep = ~uint64_t(0) >> (8 * (8 - (size & 7)) & 63);  // all of it when size is 0 or 8
        const uint64_t low = size < 8 ? keep : ~uint64_t(0), high = size > 8 ? keep : 0;
        return {half[0] & low, (half[1] & high) | uint64_t(size) << 56};
    }

    static LongKey long_key(Bytes piece) {
        LongKey key{{0, 0, 0, 0}};
        std::memcpy(key.words, piece.data, 16);
        const size_t rest = piece.size - 16;  // 0 to 15
        if (rest >= 8) {
            std::memcpy(&key.words[2], piece.data + 16, 8);
            if (rest > 8) {
                std::memcpy(&key.words[3], piece.end() - 8, 8);
                key.words[3] >>= 8 * (16 - rest);
            }
        } else if (rest > 0) {
            std::memcpy(&key.words[2], piece.end() - 8, 8);
            key.words[2] >>= 8 * (8 - rest);
        }
        key.words[3] |= uint64_t(rest) << 56;
        return key;
    }
    // Of a short piece that is too many ids for its table: no key of a piece of 16 bytes has a third word.
    static LongKey long_key(WordKey key) {
        return {{key.lo, key.hi, 1, 0}};
    }

    static uint64_t hash_of(const LongKey& k) {
        return word_hash(word_hash(k.words[0], k.words[1]) + k.words[2], k.words[3]);
    }

    const LongEntry* find(const LongKey& key, uint64_t hash) const {
        const LongEntry* const bucket = long_ + 2 * (hash & (kLongBuckets - 1));
        for (const LongEntry* e : {bucket, bucket + 1}) {
            const uint64_t differ = (e->key[0] ^ key.words[0]) | (e->key[1] ^ key.words[1]) |
                                    (e->key[2] ^ key.words[2]) | ((e->key[3] & kWordKeyMask) ^ key.words[3]);
            if (differ == 0 && e->key[3] >> 60 != 0) return e;
        }
        return nullptr;
    }
    void insert(const LongKey& key, uint64_t hash, const int32_t* ids, size_t count) {
        LongEntry* const bucket = long_ + 2 * (hash & (kLongBuckets - 1));
        bucket[1] = bucket[0];
        std::memcpy(bucket->key, key.words, sizeof key.words);
        bucket->key[3] |= uint64_t(count) << 60;
        std::memcpy(bucket->ids, ids, count * sizeof *ids);
    }

    template <typename Make>
    void encode_block(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make) {
        for (size_t i = 0; i < n; ++i) {
            const size_t size = pieces[i].end - pieces[i].start;
            const uint8_t* const p = text.data + pieces[i].start;
            if (size <= kWordKeyBytes) {
                keys_[i] = short_key(p, size, text.end());
                hashes_[i] = word_hash(keys_[i].lo, keys_[i].hi);
                prefetch(short_ + 2 * (hashes_[i] & (kShortBuckets - 1)));
            } else if (size <= kLongBytes) {
                hashes_[i] = hash_of(long_key({p, size}));
                prefetch(long_ + 2 * (hashes_[i] & (kLongBuckets - 1)));
                prefetch(long_ + 2 * (hashes_[i] & (kLongBuckets - 1)) + 1);
            }
        }
        // A piece that is found writes up to kLongIds.
        out->reserve_more(n * kLongIds);
        int32_t* to = out->end();
        const auto make_new = [&](Bytes piece, size_t left) {
            out->advance(size_t(to - out->end()));
            const size_t before = out->size();
            make(piece, out);
            const size_t count = out->size() - before;
            out->reserve_more(left * kLongIds);
            to = out->end();
            return count;
        };
        for (size_t i = 0; i < n; ++i) {
            const Bytes piece = text.slice(pieces[i].start, pieces[i].end);
            if (piece.size <= kWordKeyBytes) {
                WordEntry* const bucket = short_ + 2 * (hashes_[i] & (kShortBuckets - 1));
                // Which of the two it is cannot be guessed.
                const WordEntry* const entry = bucket + !word_matches(bucket[0], keys_[i]);
                const bool is_known = word_matches(*entry, keys_[i]);
                if (is_known && word_ids(*entry) != kElsewhere) {
                    std::memcpy(to, entry->ids, sizeof entry->ids);
                    to += word_ids(*entry);
                    continue;
                }
                const LongKey key = long_key(keys_[i]);
                if (is_known && copy_long(key, hash_of(key), &to)) continue;
                const size_t count = make_new(piece, n - i);
                if (count == 0 || count > kLongIds) continue;
                if (!is_known) {
                    bucket[1] = bucket[0];
                    bucket[0] = count <= kWordIds
                                    ? make_word_entry(keys_[i], reinterpret_cast<const uint32_t*>(to - count), count)
                                    : WordEntry{{keys_[i].lo, keys_[i].hi | uint64_t(kElsewhere) << 60}, {0, 0, 0, 0}};
                }
                if (count > kWordIds) insert(key, hash_of(key), to - count, count);
            } else if (piece.size <= kLongBytes) {
                const LongKey key = long_key(piece);
                if (copy_long(key, hashes_[i], &to)) continue;
                const size_t count = make_new(piece, n - i);
                if (count != 0 && count <= kLongIds) insert(key, hashes_[i], to - count, count);
            } else {
                make_new(piece, n - i);
            }
        }
        out->advance(size_t(to - out->end()));
    }

    bool copy_long(const LongKey& key, uint64_t hash, int32_t** to) const {
        const LongEntry* const entry = find(key, hash);
        if (entry == nullptr) return false;
        std::memcpy(*to, entry->ids, sizeof entry->ids);
        *to += entry->key[3] >> 60;
        return true;
    }

    const Table<WordEntry> short_memory_ = make_table<WordEntry>(kShortBuckets);
    const Table<LongEntry> long_memory_ = make_table<LongEntry>(kLongBuckets);
    WordEntry* const short_ = aligned(short_memory_);
    LongEntry* const long_ = aligned(long_memory_);
    WordKey keys_[kBlock];
    uint64_t hashes_[kBlock];
};

}  // namespace crayon
