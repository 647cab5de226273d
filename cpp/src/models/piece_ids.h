// A thread's bounded memory of short pieces and the ids that each becomes, and the loop that looks pieces up, a block
// at a time.
#pragma once

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

    explicit PieceIds(CpuLevel level) : kernels_(word_kernels(level)) {}

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

    static bool is_ascii(WordKey key) { return ((key.lo | key.hi) & 0x8080808080808080u) == 0; }

    template <typename Make>
    void encode_block(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make, const MergeTables* ascii) {
        auto& b = block_;
        const auto piece_at = [&](size_t i) { return text.slice(pieces[i].start, pieces[i].end); };
        b.make_keys(text, n, PieceWords{pieces}, cache_, kernels_);
        const size_t n_missed = b.look_up(n, cache_, kernels_);
        if (n_missed > 0) resolve_misses(n_missed, piece_at, make, ascii);
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

    // Entries for what the cache did not have where it looked: first what can be merged together, then the others one
    // by one, then what goes into the ring. Until it is there, an entry says that it is not kept, which is true if one
    // of the others cannot be made.
    template <typename PieceAt, typename Make>
    void resolve_misses(size_t n_missed, PieceAt piece_at, Make&& make, const MergeTables* ascii) {
        auto& b = block_;
        for (size_t j = 0; j < n_missed; ++j) prefetch(cache_.neighbour_bucket(b.buckets[b.missed[j]]));
        size_t n_tasks = 0, n_waiting = 0, n_left = 0;
        n_kept_ = 0;
        made_.clear();
        made_.reserve_more(n_missed * MergeTask::kRoom);  // so that nothing fails while an entry waits for its task
        for (size_t j = 0; j < n_missed; ++j) {
            const Bytes piece = piece_at(b.missed[j]);
            const WordKey key = b.keys[b.missed[j]];
            WordEntry& made = b.made[j];
            b.entries[b.missed[j]] = &made;
            if (piece.size - 1 >= kWordKeyBytes) {
                left_[n_left++] = uint32_t(j);
                if (piece.size <= PieceRing::kLongest) ask_ring(j, piece);
                continue;
            }
            if (!find_made(j)) {
                if (ascii == nullptr || !is_ascii(key)) {
                    left_[n_left++] = uint32_t(j);
                    continue;
                }
                made = entry_of_kind(key, kTask, n_tasks);
                tasks_[n_tasks] = {key, merged_[n_tasks], 0};
                ++n_tasks;
                recent_of(key) = uint16_t(j);
            }
            waiting_[n_waiting] = uint32_t(j);
            n_waiting += word_ids(made) == kTask;
        }
        if (n_tasks > 0) ascii->batch(*ascii, tasks_, n_tasks);
        for (size_t k = 0; k < n_waiting; ++k) {
            const size_t j = waiting_[k];
            const MergeTask& task = tasks_[b.made[j].ids[0]];
            set_made(j, piece_at(b.missed[j]), task.out, task.count);
        }
        for (size_t k = 0; k < n_left; ++k) make_one(left_[k], piece_at(b.missed[left_[k]]), make);
        for (size_t k = 0; k < n_kept_; ++k) {
            const Kept& kept = kept_[k];
            const Bytes piece = piece_at(b.missed[kept.j]);
            const uint32_t* const ids = reinterpret_cast<const uint32_t*>(made_.data()) + kept.start;
            const uint64_t hash = hashes_[kept.j], known = ring_.find(piece, hash);
            const uint64_t at = known != PieceRing::kNone ? known : ring_.insert(piece, hash, ids, kept.count);
            if (at != PieceRing::kNone) b.made[kept.j] = entry_of_kind(b.keys[b.missed[kept.j]], kInRing, at);
        }
    }

    template <typename Make>
    void make_one(size_t j, Bytes piece, Make&& make) {
        auto& b = block_;
        const WordKey key = b.keys[b.missed[j]];
        const bool is_long = piece.size - 1 >= kWordKeyBytes;
        if (is_long) {
            b.made[j] = entry_of_kind({0, 0}, kUncached);
            if (piece.size > PieceRing::kLongest) return;
            const uint64_t at = ring_.find(piece, hashes_[j]);
            if (at != PieceRing::kNone) {
                b.made[j] = entry_of_kind(key, kInRing, at);
                return;
            }
        } else {
            const size_t before = recent_of(key);
            const bool waits = before < j && word_matches(b.made[before], key);
            if (find_made(j)) {
                if (waits) b.entries[b.missed[j]] = &b.made[before];  // which may be in the ring soon
                return;
            }
        }
        const size_t start = made_.size();
        make(piece, &made_);
        const size_t count = made_.size() - start;
        made_.shrink_by(count);
        set_made(j, piece, reinterpret_cast<const uint32_t*>(made_.data()) + start, count);
        if (!is_long) recent_of(key) = uint16_t(j);
    }

    // Sets made[j] of a piece with these ids. In front of made_'s end, where they may lie, is what it keeps for the
    // ring.
    void set_made(size_t j, Bytes piece, const uint32_t* ids, size_t count) {
        const WordKey key = block_.keys[block_.missed[j]];
        if (piece.size <= kWordKeyBytes && count <= kWordIds) {
            block_.made[j] = make_word_entry(key, ids, count);
            return;
        }
        block_.made[j] = entry_of_kind(key, kUncached);
        if (count > kMostIds) return;
        if (piece.size <= kWordKeyBytes) ask_ring(j, piece);
        kept_[n_kept_++] = {uint32_t(j), uint32_t(made_.size()), uint32_t(count)};
        made_.reserve_more(count);
        std::memmove(made_.end(), ids, count * sizeof *ids);
        made_.advance(count);
    }

    void ask_ring(size_t j, Bytes piece) {
        hashes_[j] = PieceRing::hash(piece);
        ring_.prefetch_slots(hashes_[j]);
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

    template <typename Make>
    void write_kept(Bytes piece, const WordEntry& entry, IdBuffer* out, Make&& make) {
        const uint64_t at = place_in_ring(entry);
        if (word_ids(entry) != kInRing || !ring_.is_live(at)) return make(piece, out);
        out->reserve_more(ring_.count(at) + kWordIds);
        out->advance(ring_.copy(at, reinterpret_cast<uint32_t*>(out->end())));
    }

    const WordKernels& kernels_;
    WordCache cache_;
    PieceRing ring_;
    WordBlock<kBlock> block_;
    // Of a block's missed pieces: the ring's hash of some, those to be made one by one, those that tasks make, and
    // those that go into the ring.
    uint64_t hashes_[kBlock];
    uint32_t left_[kBlock], waiting_[kBlock];
    MergeTask tasks_[kBlock];
    uint32_t merged_[kBlock][MergeTask::kRoom];  // what they write
    struct Kept {
        uint32_t j, start, count;  // ids of made_
    };
    Kept kept_[kBlock];
    size_t n_kept_ = 0;
    IdBuffer made_;
};

}  // namespace crayon
