// A thread's cache of short pretokens, also single tokens: two entries per cache line, the newer first, with full keys.
// Natural text repeats few words often. These words fit the processor core's own cache, for which the cartridge's table
// is too large.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "encode/memo/memo.h"
#include "encode/memo/word_table.h"
#include "support/zeroed_memory.h"

namespace crayon {

class WordCache {
  public:
    // Starts small, so that a thread's first text is cheap. Grows whenever the entries lost to newer ones reach half
    // its capacity.
    static constexpr uint64_t kFirstBuckets = uint64_t(1) << 10;  // 64 KiB
    static constexpr uint64_t kMostBuckets = uint64_t(1) << 17;   // 8 MiB

    WordCache() {
        if (!start(allocate(kFirstBuckets), kFirstBuckets)) throw std::bad_alloc();
    }

    struct Bucket {
        WordEntry entries[2];
    };
    static_assert(sizeof(Bucket) == 64, "a bucket is a cache line");
    const Bucket* buckets() const { return buckets_; }
    static uint64_t hash(WordKey key) { return key.lo * 0x9E3779B97F4A7C15ull + key.hi * 0xD6E8FEB86659FD93ull; }
    uint32_t shift() const { return shift_; }  // a key's bucket is hash(key) >> shift()

    // Inserts the entry of a missed word into its bucket, replacing the older entry.
    void insert(uint64_t at, const WordEntry& entry) {
        WordEntry* const bucket = buckets_[at].entries;
        const WordKey key = key_of(entry);
        if (word_matches(bucket[0], key) || word_matches(bucket[1], key)) return;  // one block missed the word twice
        lost_ += bucket[1].key[1] != 0;
        bucket[1] = bucket[0];
        bucket[0] = entry;
    }
    // Drops entries that name freed records.
    void drop_unless(const MemoReader& memo) {
        for (Bucket* bucket = buckets_; bucket < buckets_ + size_; ++bucket)
            for (WordEntry& entry : bucket->entries)
                if (word_ids(entry) == kRecorded && !memo.has_record(entry)) entry = {};
    }
    void grow_if_crowded() {
        if (lost_ > size_ && size_ < kMostBuckets) grow();
    }
    bool is_largest() const { return size_ == kMostBuckets; }
    size_t bytes() const { return memory_.bytes(); }

  private:
    static WordKey key_of(const WordEntry& entry) { return {entry.key[0], entry.key[1] & kWordKeyMask}; }

    bool start(ZeroedMemory memory, uint64_t buckets) {
        if (memory.data() == nullptr) return false;
        memory_ = std::move(memory);
        buckets_ = static_cast<Bucket*>(memory_.data());
        size_ = buckets;
        shift_ = 64;
        for (uint64_t n = buckets; n > 1; n /= 2) --shift_;
        lost_ = 0;
        return true;
    }
    static ZeroedMemory allocate(uint64_t buckets) { return ZeroedMemory(buckets * sizeof(Bucket)); }

    void grow() {
        const Bucket* const old = buckets_;
        const uint64_t n = size_;
        lost_ = 0;
        // The cache first grows to four times the size in small pages, then to one large page, because many 4 KiB pages
        // cost more than they save. Then it doubles, because touching all large pages at once would cause a noticeable
        // delay.
        constexpr uint64_t kHugeBuckets = kHugePage / sizeof(Bucket);
        const uint64_t more = n * 8 < kHugeBuckets ? n * 4 : n < kHugeBuckets ? kHugeBuckets : 2 * n;
        ZeroedMemory larger = allocate(more);
        if (larger.data() == nullptr) return;
        ZeroedMemory kept = std::move(memory_);
        start(std::move(larger), more);
        for (const Bucket* bucket = old; bucket < old + n; ++bucket)
            for (const WordEntry* entry : {&bucket->entries[1], &bucket->entries[0]})
                if (entry->key[1] != 0) insert(hash(key_of(*entry)) >> shift_, *entry);
        kept.retire();
    }

    ZeroedMemory memory_;
    Bucket* buckets_ = nullptr;
    uint64_t size_ = 0;
    uint32_t shift_ = 0;
    uint64_t lost_ = 0;  // entries lost since it last grew
};

}  // namespace crayon
