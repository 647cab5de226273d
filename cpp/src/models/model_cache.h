// A thread's lossy cache of short pieces and their few tokens, with full keys.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "bpe/word_table.h"
#include "crayon/models/models.h"
#include "crayon/support/bytes.h"

namespace crayon {

class PieceCache {
  public:
    // Appends the tokens of a piece that begins at `start`. If the cache lacks them, `make` makes them and the cache
    // keeps them. Returns where the last token ends.
    template <typename Make>
    uint32_t tokenize(Bytes piece, uint32_t start, std::vector<ModelToken>* out, Make&& make) {
        if (piece.size <= kWordKeyBytes) return look_up(short_, short_key(piece), start, out, make);
        if (piece.size <= kLongBytes) return look_up(long_, long_key(piece), start, out, make);
        return make();
    }

    size_t bytes() const { return short_.bytes() + long_.bytes(); }

  private:
    static constexpr size_t kLongBytes = 31;

    // The bytes, zero padded; the last byte's low bits identify their number. `tokens` are packed.
    template <size_t Words, size_t Tokens>
    struct Entry {
        uint64_t key[Words];
        uint32_t tokens[Tokens];
        uint32_t count() const { return uint32_t(key[Words - 1] >> 60); }
        bool matches(const uint64_t* other) const {
            bool same = (key[Words - 1] & kWordKeyMask) == other[Words - 1];
            for (size_t i = 0; i + 1 < Words; ++i) same &= key[i] == other[i];
            return same;
        }
    };
    using ShortEntry = Entry<2, kWordIds>;
    using LongEntry = Entry<4, 2 * kWordIds>;
    static_assert(sizeof(ShortEntry) == 32 && sizeof(LongEntry) == 64, "entries do not straddle cache lines");

    // Two entries per bucket, the newer first.
    template <typename Entry, uint64_t Buckets>
    struct Table {
        std::unique_ptr<Entry[]> entries;  // created at first use; calls for ids alone need none (word_ids.h)
        size_t bytes() const { return entries == nullptr ? 0 : 2 * Buckets * sizeof(Entry); }
    };
    template <size_t Words>
    struct Key {
        uint64_t words[Words];
        uint64_t hash;
    };

    static uint64_t load(const uint8_t* p, size_t size) {
        uint64_t value = 0;
        std::memcpy(&value, p, size);
        return value;
    }

    static Key<2> short_key(Bytes piece) {
        const uint8_t* const p = piece.data;
        const size_t size = piece.size;
        uint64_t lo, hi = 0;
        if (size >= 8) {
            lo = load(p, 8);
            if (size > 8) hi = load(p + size - 8, 8) >> (8 * (16 - size));
        } else if (size >= 4) {
            lo = load(p, 4) | load(p + size - 4, 4) << (8 * (size - 4));
        } else {
            lo = uint64_t(p[0]) | uint64_t(p[size / 2]) << (8 * (size / 2)) | uint64_t(p[size - 1]) << (8 * (size - 1));
        }
        hi |= uint64_t(size) << 56;
        return {{lo, hi}, word_hash(lo, hi)};
    }

    static Key<4> long_key(Bytes piece) {
        const uint8_t* const p = piece.data;
        const size_t rest = piece.size - 16;  // 0 to 15: the last byte holds it
        const uint64_t a = load(p, 8), b = load(p + 8, 8);
        // The bytes from 16 on: the last 8 of the piece, and above 8 also the first 8.
        uint64_t c = 0, d = 0;
        if (rest > 8) {
            c = load(p + 16, 8);
            d = load(p + piece.size - 8, 8) >> (8 * (16 - rest));
        } else if (rest > 0) {
            c = load(p + piece.size - 8, 8) >> (8 * (8 - rest));
        }
        d |= uint64_t(rest) << 56;
        return {{a, b, c, d}, word_hash(word_hash(a, b) + c, d)};
    }

    static constexpr uint32_t kSizeBits = 5, kOwnBit = kIdBits + kSizeBits;
    static_assert(kLongBytes < 1u << kSizeBits && kOwnBit < 32, "id, size and flag fit a word");

    template <typename Entry, uint64_t Buckets, size_t Words, typename Make>
    static uint32_t look_up(Table<Entry, Buckets>& table, const Key<Words>& key, uint32_t start,
                            std::vector<ModelToken>* out, Make&& make) {
        if (table.entries == nullptr) table.entries.reset(new Entry[2 * Buckets]());
        Entry* const bucket = &table.entries[2 * (key.hash & (Buckets - 1))];
        for (const Entry* entry : {bucket, bucket + 1})
            if (entry->matches(key.words) && entry->count() > 0) return append(*entry, start, out);
        const size_t before = out->size();
        const uint32_t end = make();
        const size_t count = out->size() - before;
        Entry made;
        if (count == 0 || count > sizeof made.tokens / sizeof *made.tokens) return end;
        uint32_t at = start;
        for (size_t i = 0; i < count; ++i) {
            const ModelToken& token = (*out)[before + i];
            if (token.start != at) return end;  // tokens of bytes share a place
            made.tokens[i] = token.id | (token.end - token.start) << kIdBits | uint32_t(token.own_text) << kOwnBit;
            at = token.end;
        }
        std::memcpy(made.key, key.words, sizeof made.key);
        made.key[Words - 1] |= uint64_t(count) << 60;
        bucket[1] = bucket[0];
        bucket[0] = made;
        return end;
    }

    template <typename Entry>
    static uint32_t append(const Entry& entry, uint32_t at, std::vector<ModelToken>* out) {
        const uint32_t count = entry.count();
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t packed = entry.tokens[i], end = at + (packed >> kIdBits & ((1u << kSizeBits) - 1));
            out->push_back({packed & ((1u << kIdBits) - 1), at, end, bool(packed >> kOwnBit & 1)});
            at = end;
        }
        return at;
    }

    Table<ShortEntry, uint64_t(1) << 13> short_;  // 512 KiB
    Table<LongEntry, uint64_t(1) << 11> long_;    // 256 KiB
};

}  // namespace crayon
