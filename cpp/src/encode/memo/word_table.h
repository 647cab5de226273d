// The word table: pretokens of up to 15 bytes and their one to four ids, usually found with one cache line. The
// cartridge's table (built once, used in place) and a thread's cache share the entries.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/support/bytes.h"

namespace crayon {

// Returns the key of a word of 1 to 15 bytes. Reads 16 bytes at `p` if they end before `limit`, else only the word's
// own. Does not branch on the size, which is unpredictable.
inline WordKey word_key(const uint8_t* p, size_t size, const uint8_t* limit) {
    uint64_t half[2] = {0, 0};
    if (limit - p >= 16) {
        std::memcpy(half, p, 16);
        const uint64_t keep = ~uint64_t(0) >> (8 * (8 - (size & 7)) & 63);  // all bits if size is 8
        half[0] &= size < 8 ? keep : ~uint64_t(0);
        half[1] &= size > 8 ? keep : 0;
    } else {
        std::memcpy(half, p, size);
    }
    return {half[0], half[1] | uint64_t(size) << 56};
}

// The hash of a word of more than kWordKeyBytes.
inline uint64_t long_word_hash(Bytes word) {
    const auto load = [](const uint8_t* p) {
        uint64_t value;
        std::memcpy(&value, p, sizeof value);
        return value;
    };
    const uint8_t* p = word.data;
    const uint8_t* const last = word.end() - 16;
    uint64_t h = word.size;
    for (; p < last; p += 16) h = word_hash(load(p) ^ h, load(p + 8));
    return word_hash(load(last) ^ h, load(last + 8));
}

inline uint32_t word_ids(const WordEntry& entry) {
    return uint32_t(entry.key[1] >> 60);
}
inline bool word_matches(const WordEntry& entry, WordKey key) {
    return entry.key[0] == key.lo && (entry.key[1] & kWordKeyMask) == key.hi;
}

// Finds a word by linear probing over buckets of two entries. The second entry of a bucket is empty only where a chain
// ends.
inline const WordEntry* find_word(const WordEntry* table, uint64_t bucket_mask, uint64_t hash, WordKey key) {
    for (uint64_t b = hash & bucket_mask;; b = (b + 1) & bucket_mask) {
        const WordEntry* bucket = table + 2 * b;
        if (word_matches(bucket[0], key)) return bucket;
        if (word_matches(bucket[1], key)) return bucket + 1;
        if (bucket[1].key[1] == 0) return nullptr;
    }
}

inline WordEntry make_word_entry(WordKey key, const uint32_t* ids, size_t count) {
    WordEntry entry{{key.lo, key.hi | uint64_t(count) << 60}, {0, 0, 0, 0}};
    std::memcpy(entry.ids, ids, count * sizeof *ids);
    return entry;
}

class WordTableBuilder {
  public:
    // Skips words that are too long or have too many ids. Words must be unique.
    void add(Bytes word, const uint32_t* ids, size_t count) {
        if (word.size == 0 || word.size > kWordKeyBytes || count > kWordIds) return;
        entries_.push_back(make_word_entry(word_key(word.begin(), word.size, word.end()), ids, count));
    }
    // At most 80% full.
    std::vector<WordEntry> finish() const {
        size_t buckets = 2;
        while (buckets * 2 * 8 < entries_.size() * 10) buckets *= 2;
        std::vector<WordEntry> table(buckets * 2, WordEntry{});
        for (const WordEntry& entry : entries_) {
            uint64_t b = word_hash(entry.key[0], entry.key[1] & kWordKeyMask) & (buckets - 1);
            while (table[2 * b + 1].key[1] != 0) b = (b + 1) & (buckets - 1);
            table[2 * b + (table[2 * b].key[1] != 0)] = entry;
        }
        return table;
    }

  private:
    std::vector<WordEntry> entries_;
};

}  // namespace crayon
