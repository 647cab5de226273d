// Counts words in a hash table. The first bits of a word's hash choose one of its shards. Threads merge tables shard by
// shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "crayon/support/bytes.h"
#include "crayon/training/training.h"
#include "encode/memo/word_table.h"
#include "support/zeroed_memory.h"

namespace crayon {

// The entry of a word of up to kWordKeyBytes has the word itself, with its size in the last byte. For a longer word,
// `lo` is the address of the word's record, and `hi` has bits of its hash. An entry is empty if `hi` is 0.
struct WordCount {
    uint64_t lo, hi, count;
};
static_assert(sizeof(WordCount) == 24, "word_counter.h documents this size");

constexpr uint64_t kTextWord = uint64_t(0x80) << 56;  // flag in `hi`: the word is UTF-8, not raw
constexpr uint64_t kLongWord = uint64_t(0x40) << 56;

// Memory for long words that never moves. A record is the word's size, then its bytes.
class WordRecords {
  public:
    const uint8_t* add(Bytes word) {
        const size_t need = sizeof(uint64_t) + word.size;
        if (need > left_) {
            const size_t size = std::max(need, std::min(std::max(total_ / 2, kFirst), kMost));
            blocks_.reserve(blocks_.size() + 1);
            blocks_.emplace_back(new uint8_t[size]);
            at_ = blocks_.back().get();
            left_ = size;
            total_ += size;
        }
        uint8_t* const record = at_;
        const uint64_t size = word.size;
        std::memcpy(record, &size, sizeof size);
        std::memcpy(record + sizeof size, word.data, word.size);
        at_ += need;
        left_ -= need;
        return record;
    }
    static Bytes word_at(uint64_t address) {
        const uint8_t* const record = reinterpret_cast<const uint8_t*>(uintptr_t(address));
        uint64_t size;
        std::memcpy(&size, record, sizeof size);
        return {record + sizeof size, size_t(size)};
    }

  private:
    static constexpr size_t kFirst = 1024, kMost = size_t(1) << 18;
    std::vector<std::unique_ptr<uint8_t[]>> blocks_;
    uint8_t* at_ = nullptr;
    size_t left_ = 0, total_ = 0;
};

// Linear probing, at most three quarters full. A word's home is proportional to its hash, so a shard can have any size,
// and grows by half.
class WordCountShard {
  public:
    static constexpr uint32_t kBits = 6;  // bits of the hash that choose the shard

    bool empty() const { return size_ == 0; }
    size_t size() const { return size_; }
    const WordCount* home(uint64_t hash) const { return slots_ + home_of(hash); }

    // Counts a word of up to kWordKeyBytes, given by its key, `n` times.
    void add(uint64_t lo, uint64_t hi, uint64_t hash, uint64_t n) {
        for (size_t i = home_of(hash);;) {
            WordCount& entry = slots_[i];
            if (((entry.lo ^ lo) | (entry.hi ^ hi)) == 0) {
                entry.count += n;
                return;
            }
            if (entry.hi == 0) break;
            if (++i == capacity_) i = 0;
        }
        insert({lo, hi, n}, hash);
    }
    // Counts a longer word `n` times. `kind` is kTextWord, or 0 for a raw word.
    void add_long(Bytes word, uint64_t kind, uint64_t hash, uint64_t n) {
        const uint64_t hi = long_key(kind, hash);
        if (WordCount* const entry = find_long(word, hi, hash)) {
            entry->count += n;
            return;
        }
        make_room();
        insert({uint64_t(reinterpret_cast<uintptr_t>(records_.add(word))), hi, n}, hash);
    }

    // Adds the counts of another shard, word by word. `done` becomes the number of words counted so far, for take_back.
    // If the call throws, the words counted so far stay.
    void absorb(const WordCountShard& from, size_t* done) {
        from.for_each([&](const WordCount& entry) {
            const uint64_t hash = hash_of(entry);
            if (entry.hi & kLongWord)
                add_long(WordRecords::word_at(entry.lo), entry.hi & kTextWord, hash, entry.count);
            else
                add(entry.lo, entry.hi, hash, entry.count);
            ++*done;
        });
    }
    // Undoes the first `n` words of absorb. Cannot fail.
    void take_back(const WordCountShard& from, size_t n) {
        from.for_each([&](const WordCount& entry) {
            if (n == 0) return;
            --n;
            WordCount* const found = find(entry);
            found->count -= entry.count;
            if (found->count == 0) erase(size_t(found - slots_));
        });
    }

    template <typename Visit>
    void for_each(Visit&& visit) const {
        if (size_ == 0) return;
        for (size_t i = 0; i < capacity_; ++i)
            if (slots_[i].hi != 0) visit(slots_[i]);
    }

    // Keeps a small shard's memory for the next call.
    void clear() {
        if (size_ == 0) return;
        if (capacity_ > kKept) {
            *this = WordCountShard();
            return;
        }
        std::memset(slots_, 0, capacity_ * sizeof *slots_);
        size_ = 0;
        records_ = WordRecords();
    }

    WordCountShard() = default;
    WordCountShard(WordCountShard&& other) noexcept { swap(other); }
    WordCountShard& operator=(WordCountShard&& other) noexcept {
        WordCountShard(std::move(other)).swap(*this);
        return *this;
    }
    void swap(WordCountShard& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(slots_, other.slots_);
        std::swap(capacity_, other.capacity_);
        std::swap(size_, other.size_);
        std::swap(records_, other.records_);
    }

    static Bytes text_of(const WordCount& entry) {
        if (entry.hi & kLongWord) return WordRecords::word_at(entry.lo);
        return {reinterpret_cast<const uint8_t*>(&entry), size_t(entry.hi >> 56 & 15)};
    }

  private:
    static constexpr size_t kFirst = 16, kKept = 256;

    static uint64_t long_key(uint64_t kind, uint64_t hash) { return kind | kLongWord | hash >> 8; }
    static uint64_t hash_of(const WordCount& entry) {
        return entry.hi & kLongWord ? entry.hi << 8 : word_hash(entry.lo, entry.hi);
    }
    size_t home_of(uint64_t hash) const { return size_t(uint64_t(uint32_t(hash >> (32 - kBits))) * capacity_ >> 32); }

    WordCount* find_long(Bytes word, uint64_t hi, uint64_t hash) {
        for (size_t i = home_of(hash); slots_[i].hi != 0;) {
            if (slots_[i].hi == hi) {
                const Bytes known = WordRecords::word_at(slots_[i].lo);
                if (known.size == word.size && std::memcmp(known.data, word.data, word.size) == 0) return &slots_[i];
            }
            if (++i == capacity_) i = 0;
        }
        return nullptr;
    }
    WordCount* find(const WordCount& entry) {
        const uint64_t hash = hash_of(entry);
        if (entry.hi & kLongWord) return find_long(WordRecords::word_at(entry.lo), entry.hi, hash);
        size_t i = home_of(hash);
        while (slots_[i].lo != entry.lo || slots_[i].hi != entry.hi) i = i + 1 == capacity_ ? 0 : i + 1;
        return &slots_[i];
    }

    void insert(const WordCount& entry, uint64_t hash) {
        make_room();
        place(entry, hash);
        ++size_;
    }
    void place(const WordCount& entry, uint64_t hash) {
        size_t i = home_of(hash);
        while (slots_[i].hi != 0) i = i + 1 == capacity_ ? 0 : i + 1;
        slots_[i] = entry;
    }
    void make_room() {
        if (memory_.data() != nullptr && size_ + 1 <= capacity_ / 4 * 3) return;
        const size_t larger = memory_.data() == nullptr ? kFirst : (capacity_ + capacity_ / 2 + 7) & ~size_t(7);
        if (larger > UINT32_MAX) throw std::bad_alloc();
        ZeroedMemory memory(larger * sizeof(WordCount));
        if (memory.data() == nullptr) throw std::bad_alloc();
        const WordCount* const old = slots_;
        const size_t n = capacity_;
        std::swap(memory_, memory);
        slots_ = static_cast<WordCount*>(memory_.data());
        capacity_ = larger;
        for (size_t i = 0; i < n; ++i)
            if (old[i].hi != 0) place(old[i], hash_of(old[i]));
    }
    // Removes an entry, and moves back the later entries that it had displaced from their homes.
    void erase(size_t i) {
        --size_;
        for (size_t j = i;;) {
            if (++j == capacity_) j = 0;
            if (slots_[j].hi == 0) break;
            const size_t home = home_of(hash_of(slots_[j]));
            const bool stays = i < j ? home > i && home <= j : home > i || home <= j;
            if (stays) continue;
            slots_[i] = slots_[j];
            i = j;
        }
        slots_[i] = {0, 0, 0};
    }

    // The empty entry that lookups read while the shard has no memory. It is never written.
    static WordCount* nothing() {
        static WordCount none = {0, 0, 0};
        return &none;
    }

    ZeroedMemory memory_;
    WordCount* slots_ = nothing();
    size_t capacity_ = 1;
    size_t size_ = 0;
    WordRecords records_;
};

class WordCountTable {
  public:
    static constexpr size_t kShards = size_t(1) << WordCountShard::kBits;

    static uint64_t hash_long(Bytes word) { return long_word_hash(word); }
    WordCountShard& shard_of(uint64_t hash) { return shards_[hash >> (64 - WordCountShard::kBits)]; }
    WordCountShard& shard(size_t i) { return shards_[i]; }
    const WordCountShard& shard(size_t i) const { return shards_[i]; }

    size_t size() const {
        size_t n = 0;
        for (const WordCountShard& shard : shards_) n += shard.size();
        return n;
    }
    void clear() {
        for (WordCountShard& shard : shards_) shard.clear();
    }

  private:
    WordCountShard shards_[kShards];
};

}  // namespace crayon
