// A thread's bounded memory of short pieces and the ids that each becomes, and the loop that looks pieces up, a block
// at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "bpe/merge.h"
#include "bpe/merge_batch.h"
#include "bpe/piece_ring.h"
#include "bpe/word_block.h"
#include "bpe/word_cache.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "support/prefetch.h"

namespace crayon {

// Full keys: a hash that collides costs time alone. Up to 15 bytes and 4 ids lie in the cache, and up to
// PieceRing::kLongest bytes and kMostIds in the ring.
class PieceIds {
  public:
    static constexpr size_t kBlock = 256;  // pieces looked up together

    // Appends the ids of pieces of `text`, in order. `make(piece, out)` appends those of a piece that is not known.
    // `ascii`, unless null, has a batch that merges pieces of up to kWordKeyBytes in ASCII as `make` would.
    template <typename Make>
    void encode(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make,
                const MergeTables* ascii = nullptr) {
        for (; n > kBlock; pieces += kBlock, n -= kBlock) encode_block(text, pieces, kBlock, out, make, ascii);
        encode_block(text, pieces, n, out, make, ascii);
    }

    size_t bytes() const { return sizeof *this + cache_.bytes() + ring_.bytes() + made_.capacity() * sizeof(int32_t); }

  private:
    static constexpr size_t kMostIds = 4 * PieceRing::kLongest;
    static constexpr uint32_t kTask = 13;  // in place of a number of ids: the first word says which task makes it

    static bool is_ascii(WordKey key) { return ((key.lo | key.hi) & 0x8080808080808080u) == 0; }

    template <typename Make>
    void encode_block(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make, const MergeTables* ascii) {
        auto& b = block_;
        const auto piece_at = [&](size_t i) { return text.slice(pieces[i].start, pieces[i].end); };
        b.make_keys(
            text, n, [&](size_t i) { return size_t(pieces[i].start); }, [&](size_t i) { return size_t(pieces[i].end); },
            cache_);
        const size_t n_missed = b.look_up(n, cache_);
        if (n_missed > 0) make_missed(n_missed, piece_at, make, ascii);
        // An entry's four ids are written, however many matter.
        out->reserve_more(n * kWordIds);
        int32_t* to = out->end();
        for (size_t i = 0; i < n; ++i) {
            const WordEntry& entry = *b.entries[i];
            std::memcpy(to, entry.ids, sizeof entry.ids);
            const size_t count = word_ids(entry);
            if (count > kWordIds) {
                out->advance(size_t(to - out->end()));
                write_kept(piece_at(i), entry, out, make);
                out->reserve_more((n - i) * kWordIds);
                to = out->end();
            } else {
                to += count;
            }
        }
        out->advance(size_t(to - out->end()));
        b.keep_made(n_missed, &cache_);
    }

    // Entries for what the cache did not have where it looked: what can be merged together first.
    template <typename PieceAt, typename Make>
    void make_missed(size_t n_missed, PieceAt piece_at, Make&& make, const MergeTables* ascii) {
        auto& b = block_;
        for (size_t j = 0; j < n_missed; ++j) prefetch(cache_.beside(b.buckets[b.missed[j]]));
        size_t n_tasks = 0, n_waiting = 0, n_left = 0;
        for (size_t j = 0; j < n_missed; ++j) {
            const size_t i = b.missed[j];
            const WordKey key = b.keys[i];
            WordEntry& made = b.made[j];
            b.entries[i] = &made;
            if (piece_at(i).size - 1 < kWordKeyBytes && !find_made(j)) {
                if (ascii == nullptr || !is_ascii(key)) {
                    left_[n_left++] = uint32_t(j);
                    continue;
                }
                made = entry_of_kind(key, kTask, n_tasks);
                tasks_[n_tasks] = {key, merged_[n_tasks], 0};
                ++n_tasks;
                recent_of(key) = uint16_t(j);
            } else if (piece_at(i).size - 1 >= kWordKeyBytes) {
                left_[n_left++] = uint32_t(j);
                continue;
            }
            waiting_[n_waiting] = uint32_t(j);
            n_waiting += word_ids(made) == kTask;
        }
        if (n_tasks > 0) finish_tasks(n_tasks, n_waiting, piece_at, *ascii);
        for (size_t k = 0; k < n_left; ++k) {
            const size_t j = left_[k], i = b.missed[j];
            const Bytes piece = piece_at(i);
            if (piece.size - 1 >= kWordKeyBytes) {
                b.made[j] = piece.size > PieceRing::kLongest ? entry_of_kind({0, 0}, kNotKept)
                                                             : new_entry(b.keys[i], piece, make);
            } else if (!find_made(j)) {
                b.made[j] = new_entry(b.keys[i], piece, make);
                recent_of(b.keys[i]) = uint16_t(j);
            }
        }
    }

    uint16_t& recent_of(WordKey key) { return block_.recent[word_hash(key.lo, key.hi) % block_.kRecent]; }

    // Sets made[j] where the piece was made before: shortly, or in the cache's other place.
    bool find_made(size_t j) {
        auto& b = block_;
        const WordKey key = b.keys[b.missed[j]];
        uint16_t& recent = recent_of(key);
        const WordEntry* found = &b.made[recent];
        if (!word_matches(*found, key)) found = cache_.find_displaced(b.buckets[b.missed[j]], key);
        if (found == nullptr) return false;
        b.made[j] = *found;
        recent = uint16_t(j);
        return true;
    }

    template <typename PieceAt>
    void finish_tasks(size_t n_tasks, size_t n_waiting, PieceAt piece_at, const MergeTables& ascii) {
        auto& b = block_;
        ascii.batch(ascii, tasks_, n_tasks);
        // First without the ring: if there is no memory for it, nothing is left waiting.
        size_t n_kept = 0;
        for (size_t k = 0; k < n_waiting; ++k) {
            WordEntry& made = b.made[waiting_[k]];
            const MergeTask& task = tasks_[made.ids[0]];
            if (task.count <= kWordIds) {
                made = make_word_entry(task.word, task.out, task.count);
            } else {
                made = entry_of_kind(task.word, kNotKept);
                task_of_[n_kept] = &task;
                waiting_[n_kept++] = waiting_[k];
            }
        }
        for (size_t k = 0; k < n_kept; ++k) {
            const size_t j = waiting_[k];
            const MergeTask& task = *task_of_[k];
            b.made[j] = keep_in_ring(task.word, piece_at(b.missed[j]), task.out, task.count);
        }
    }

    template <typename Make>
    WordEntry new_entry(WordKey key, Bytes piece, Make&& make) {
        const bool is_long = piece.size > kWordKeyBytes;
        if (is_long) {
            const uint64_t at = ring_.find(piece, PieceRing::hash(piece));
            if (at != PieceRing::kNone) return entry_of_kind(key, kInRing, at);
        }
        made_.clear();
        made_.reserve_more(kWordIds);
        make(piece, &made_);
        const uint32_t* const ids = reinterpret_cast<const uint32_t*>(made_.data());
        if (!is_long && made_.size() <= kWordIds) return make_word_entry(key, ids, made_.size());
        if (made_.size() > kMostIds) return entry_of_kind(key, kNotKept);
        return keep_in_ring(key, piece, ids, made_.size());
    }

    WordEntry keep_in_ring(WordKey key, Bytes piece, const uint32_t* ids, size_t count) {
        const uint64_t hash = PieceRing::hash(piece);
        uint64_t at = ring_.find(piece, hash);
        if (at == PieceRing::kNone) at = ring_.insert(piece, hash, ids, count);
        return at != PieceRing::kNone ? entry_of_kind(key, kInRing, at) : entry_of_kind(key, kNotKept);
    }

    template <typename Make>
    void write_kept(Bytes piece, const WordEntry& entry, IdBuffer* out, Make&& make) {
        const uint64_t at = place_in_ring(entry);
        if (word_ids(entry) != kInRing || !ring_.is_live(at)) return make(piece, out);
        out->reserve_more(ring_.count(at) + kWordIds);
        out->advance(ring_.copy(at, reinterpret_cast<uint32_t*>(out->end())));
    }

    WordCache cache_;
    PieceRing ring_;
    WordBlock<kBlock> block_;
    IdBuffer made_;
    // Of a block's missed pieces: those to be made one by one, and those that tasks make.
    uint32_t left_[kBlock], waiting_[kBlock];
    const MergeTask* task_of_[kBlock];
    MergeTask tasks_[kBlock];
    uint32_t merged_[kBlock][MergeTask::kRoom];  // what they write
};

}  // namespace crayon
