// A thread's bounded memory of short pieces and the ids that each becomes, and the loop that looks pieces up: in
// blocks, so that the cache misses of one block overlap.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "bpe/word_table.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "support/prefetch.h"
#include "support/zeroed_memory.h"

namespace crayon {

// Full keys: a hash that collides costs time alone. Two tables of buckets of two, the newer entry first: up to 15 bytes
// and 4 ids (4 MiB), up to 31 bytes and 8 ids (2 MiB). Both are small until as many pieces came as a table has buckets,
// so that a short-lived process does not pay for them.
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

    size_t bytes() const { return sizeof *this + short_.bytes() + long_.bytes(); }

  private:
    static constexpr uint32_t kElsewhere = 15;  // as a number of ids: too many, see the other table

    // As in WordEntry, the last byte of the key holds what tells its size, and above that the number of ids.
    struct LongEntry {
        uint64_t key[4];
        uint32_t ids[kLongIds];
    };
    static_assert(sizeof(WordEntry) == 32 && sizeof(LongEntry) == 64, "entries do not straddle cache lines");

    struct LongKey {
        uint64_t words[4];
    };
    static uint64_t hash_of(const WordEntry& e) { return word_hash(e.key[0], e.key[1] & kWordKeyMask); }
    static uint64_t hash_of(const LongEntry& e) {
        return hash_of(LongKey{{e.key[0], e.key[1], e.key[2], e.key[3] & kWordKeyMask}});
    }

    template <typename Entry, uint64_t kFirst, uint64_t kMost>
    class Table {
      public:
        Table() : memory_(2 * kFirst * sizeof(Entry)) {
            if (memory_.data() == nullptr) throw std::bad_alloc();
            start(kFirst);
        }
        size_t bytes() const { return memory_.bytes(); }
        // A copy of this in a local variable stays in registers; good until the table grows.
        struct Place {
            Entry* entries;
            uint64_t mask;
            Entry* bucket(uint64_t hash) const { return entries + 2 * (hash & mask); }
        };
        Place place() const { return {entries_, mask_}; }
        Entry* bucket(uint64_t hash) const { return place().bucket(hash); }
        // The newer of a bucket, for a piece that is not in it.
        Entry* add(uint64_t hash) {
            Entry* const at = bucket(hash);
            at[1] = at[0];
            ++added_;
            return at;
        }
        void grow_if_crowded() {
            if (added_ <= mask_ || mask_ == kMost - 1) return;
            added_ = 0;
            ZeroedMemory kept(2 * kMost * sizeof(Entry));
            if (kept.data() == nullptr) return;
            const Entry* const old = entries_;
            const uint64_t n = 2 * (mask_ + 1);
            std::swap(kept, memory_);
            start(kMost);
            for (uint64_t i = 0; i < n; ++i)  // the older one of a bucket first
                if (const Entry& entry = old[i ^ 1]; entry.key[sizeof entry.key / 8 - 1] != 0)
                    *add(hash_of(entry)) = entry;
        }

      private:
        void start(uint64_t buckets) {
            entries_ = static_cast<Entry*>(memory_.data());
            mask_ = buckets - 1;
        }

        ZeroedMemory memory_;
        Entry* entries_ = nullptr;
        uint64_t mask_ = 0, added_ = 0;
    };

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
    static LongKey long_key(WordKey key) { return {{key.lo, key.hi, 1, 0}}; }

    static uint64_t hash_of(const LongKey& k) {
        return word_hash(word_hash(k.words[0], k.words[1]) + k.words[2], k.words[3]);
    }

    const LongEntry* find(const LongKey& key, uint64_t hash) const {
        const LongEntry* const bucket = long_.bucket(hash);
        for (const LongEntry* e : {bucket, bucket + 1}) {
            const uint64_t differ = (e->key[0] ^ key.words[0]) | (e->key[1] ^ key.words[1]) |
                                    (e->key[2] ^ key.words[2]) | ((e->key[3] & kWordKeyMask) ^ key.words[3]);
            if (differ == 0 && e->key[3] >> 60 != 0) return e;
        }
        return nullptr;
    }
    void insert(const LongKey& key, uint64_t hash, const int32_t* ids, size_t count) {
        LongEntry* const entry = long_.add(hash);
        std::memcpy(entry->key, key.words, sizeof key.words);
        entry->key[3] |= uint64_t(count) << 60;
        std::memcpy(entry->ids, ids, count * sizeof *ids);
    }

    template <typename Make>
    void encode_block(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make) {
        const auto shorts = short_.place();
        const auto longs = long_.place();
        for (size_t i = 0; i < n; ++i) {
            const size_t size = pieces[i].end - pieces[i].start;
            const uint8_t* const p = text.data + pieces[i].start;
            if (size <= kWordKeyBytes) {
                keys_[i] = word_key(p, size, text.end());
                hashes_[i] = word_hash(keys_[i].lo, keys_[i].hi);
                prefetch(shorts.bucket(hashes_[i]));
            } else if (size <= kLongBytes) {
                hashes_[i] = hash_of(long_key({p, size}));
                prefetch(longs.bucket(hashes_[i]));
                prefetch(longs.bucket(hashes_[i]) + 1);
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
                const WordEntry* const bucket = shorts.bucket(hashes_[i]);
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
                    *short_.add(hashes_[i]) =
                        count <= kWordIds
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
        short_.grow_if_crowded();
        long_.grow_if_crowded();
    }

    bool copy_long(const LongKey& key, uint64_t hash, int32_t** to) const {
        const LongEntry* const entry = find(key, hash);
        if (entry == nullptr) return false;
        std::memcpy(*to, entry->ids, sizeof entry->ids);
        *to += entry->key[3] >> 60;
        return true;
    }

    Table<WordEntry, uint64_t(1) << 9, uint64_t(1) << 16> short_;
    Table<LongEntry, uint64_t(1) << 8, uint64_t(1) << 14> long_;
    WordKey keys_[kBlock];
    uint64_t hashes_[kBlock];
};

}  // namespace crayon
