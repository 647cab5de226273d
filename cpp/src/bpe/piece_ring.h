// A thread's cache of pretokens that a WordEntry has no room for, in bytes or in ids: records of any size, one after
// the other in a ring, where the newest overwrites the oldest, and an index of where they begin.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "bpe/word_table.h"
#include "crayon/support/bytes.h"
#include "support/prefetch.h"
#include "support/zeroed_memory.h"

namespace crayon {

class PieceRing {
  public:
    static constexpr size_t kLongest = 256;                 // bytes of a pretoken
    static constexpr size_t kFirstWords = size_t(1) << 14;  // 64 KiB
    static constexpr size_t kMostWords = size_t(1) << 20;   // 4 MiB, and 1 MiB of index
    static constexpr uint64_t kNone = 0;

    static uint64_t hash(Bytes piece) {
        const uint8_t* p = piece.data;
        uint64_t h = piece.size;
        if (piece.size < 16) {
            uint64_t half[2] = {0, 0};
            std::memcpy(half, p, piece.size);
            return word_hash(half[0] ^ h, half[1]);
        }
        const uint8_t* const last = piece.end() - 16;
        for (; p < last; p += 16) h = word_hash(load(p) ^ h, load(p + 8));
        return word_hash(load(last) ^ h, load(last + 8));
    }

    void prefetch_slots(uint64_t hash) const {
        if (n_words_ > 0) prefetch(slots_ + first_slot(hash));
    }
    // Where the record of a piece begins, or kNone.
    uint64_t find(Bytes piece, uint64_t hash) const {
        if (n_words_ == 0) return kNone;
        const uint64_t* const bucket = slots_ + first_slot(hash);
        for (size_t i = 0; i < kWays; ++i) {
            const uint64_t at = bucket[i] & kPositions;
            if (bucket[i] >> kPositionBits != tag(hash) || !is_live(at)) continue;
            const uint32_t* const record = &words_[at & (n_words_ - 1)];
            if ((record[0] & kSizes) == piece.size && std::memcmp(record + 1, piece.data, piece.size) == 0) return at;
        }
        return kNone;
    }

    bool is_live(uint64_t at) const { return at != kNone && at + n_words_ >= head_; }
    size_t count(uint64_t at) const { return words_[at & (n_words_ - 1)] >> kCountShift; }
    // Writes the ids of a live record, and up to three words more; returns how many ids.
    size_t copy(uint64_t at, uint32_t* out) const {
        const uint32_t* const record = &words_[at & (n_words_ - 1)];
        const uint32_t* const ids = record + 1 + words_of(record[0] & kSizes);
        const size_t count = record[0] >> kCountShift;
        if (record[0] & kNarrow) {
            for (size_t i = 0; i < count; i += 4) {
                uint16_t narrow[4];
                std::memcpy(narrow, ids + i / 2, sizeof narrow);
                for (size_t k = 0; k < 4; ++k) out[i + k] = narrow[k];
            }
        } else {
            for (size_t i = 0; i < count; i += 4) std::memcpy(out + i, ids + i, 16);
        }
        return count;
    }

    // Keeps a piece that was not found; `count` is at most its size. Returns
    // where, or kNone.
    uint64_t insert(Bytes piece, uint64_t hash, const uint32_t* ids, size_t count) {
        bool narrow = true;
        for (size_t i = 0; i < count; ++i) narrow &= ids[i] <= 0xFFFF;
        const size_t need = 1 + words_of(piece.size) + (narrow ? words_of(2 * count) : count);
        if (head_ + need + kSlack > n_words_ && n_words_ < kMostWords) grow();
        uint64_t at = head_;
        // No record goes round the end.
        const size_t offset = at & (n_words_ - 1);
        if (offset + need + kSlack > n_words_) at += n_words_ - offset;
        if (at + need > kPositions) return kNone;  // after a petabyte: no position may come twice
        head_ = at + need;
        uint32_t* const record = &words_[at & (n_words_ - 1)];
        record[0] = uint32_t(piece.size | (narrow ? kNarrow : 0) | count << kCountShift);
        std::memcpy(record + 1, piece.data, piece.size);
        uint32_t* const to = record + 1 + words_of(piece.size);
        for (size_t i = 0; i < count; ++i) {
            const uint16_t low = uint16_t(ids[i]);
            if (narrow)
                std::memcpy(reinterpret_cast<uint8_t*>(to) + 2 * i, &low, 2);
            else
                to[i] = ids[i];
        }
        place(hash, at);
        return at;
    }

    size_t bytes() const { return memory_.bytes(); }

  private:
    static constexpr size_t kWays = 4;
    static constexpr size_t kWordsToSlot = 8;
    static constexpr uint32_t kPositionBits = 48;
    static constexpr uint64_t kPositions = (uint64_t(1) << kPositionBits) - 1;
    static constexpr size_t kSlack = 4;  // words behind a record that copy() may read
    // A record's first word: the size in bytes, whether ids are in half words, the number of ids.
    static constexpr uint32_t kSizes = 0x7FFF, kNarrow = 0x8000, kCountShift = 16;

    static uint64_t load(const uint8_t* p) {
        uint64_t value;
        std::memcpy(&value, p, sizeof value);
        return value;
    }
    static size_t words_of(size_t bytes) { return (bytes + 3) / 4; }
    static uint64_t tag(uint64_t hash) { return hash >> kPositionBits; }
    size_t first_slot(uint64_t hash) const { return hash & (n_words_ / kWordsToSlot - 1) & ~uint64_t(kWays - 1); }

    // In the place of the oldest; dead and empty ones are older than all others.
    void place(uint64_t hash, uint64_t at) {
        uint64_t* const bucket = slots_ + first_slot(hash);
        uint64_t* oldest = bucket;
        for (size_t i = 1; i < kWays; ++i)
            if ((bucket[i] & kPositions) < (*oldest & kPositions)) oldest = bucket + i;
        *oldest = tag(hash) << kPositionBits | at;
    }
    // The ring is full for the first time: what it has stays where it is. In few steps, the last one in large pages.
    void grow() {
        const size_t size = n_words_ == 0 ? kFirstWords : n_words_ == kFirstWords ? 4 * kFirstWords : kMostWords;
        const size_t n_slots = size / kWordsToSlot;
        ZeroedMemory larger(n_slots * sizeof *slots_ + size * sizeof *words_);
        if (larger.data() == nullptr) throw std::bad_alloc();
        uint64_t* const slots = static_cast<uint64_t*>(larger.data());
        uint32_t* const words = reinterpret_cast<uint32_t*>(slots + n_slots);
        if (n_words_ > 0) std::memcpy(words, words_, n_words_ * sizeof *words_);
        memory_ = std::move(larger);
        slots_ = slots;
        words_ = words;
        n_words_ = size;
        for (uint64_t at = kFirst; at < head_;) {
            const uint32_t header = words_[at], bytes = header & kSizes, count = header >> kCountShift;
            place(hash({reinterpret_cast<const uint8_t*>(&words_[at + 1]), bytes}), at);
            at += 1 + words_of(bytes) + (header & kNarrow ? words_of(2 * count) : count);
        }
    }

    static constexpr uint64_t kFirst = 1;
    ZeroedMemory memory_;
    uint64_t* slots_ = nullptr;  // buckets of kWays
    uint32_t* words_ = nullptr;  // records: what kSizes says, the bytes, the ids
    size_t n_words_ = 0;
    uint64_t head_ = kFirst;  // where the next record begins, in words since the first; modulo the ring's size
};

}  // namespace crayon
