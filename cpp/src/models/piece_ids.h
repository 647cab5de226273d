// A thread's bounded memory of short pieces and the ids that each becomes, and the loop that looks pieces up, a block
// at a time.
#pragma once

#include <cstdint>
#include <cstring>

#include "bpe/memo.h"
#include "bpe/merge.h"
#include "bpe/merge_batch.h"
#include "bpe/word_block.h"
#include "bpe/word_cache.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "support/prefetch.h"

namespace crayon {

// Full keys: a hash that collides costs time alone. Up to 15 bytes and 4 ids lie in the cache, and up to
// Memo::kLongest bytes and kMostIds in the memo as well.
class PieceIds {
  public:
    static constexpr size_t kBlock = 256;  // pieces looked up together

    // Without a memo it forgets what its cache has no room for.
    PieceIds(const WordKernels& kernels, Memo* memo) : kernels_(kernels), memo_(memo) {}

    // Appends the ids of pieces of `text`, in order. `make(piece, out)` appends those of a piece that is not known.
    // `ascii`, unless null, has a batch that merges pieces of up to kWordKeyBytes in ASCII as `make` would.
    template <typename Make>
    void encode(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make,
                const MergeTables* ascii = nullptr) {
        for (; n > kBlock; pieces += kBlock, n -= kBlock) encode_block(text, pieces, kBlock, out, make, ascii);
        encode_block(text, pieces, n, out, make, ascii);
    }

    void rest() { memo_.rest(); }
    size_t bytes() const { return sizeof *this + cache_.bytes() + made_.capacity() * sizeof(int32_t); }

  private:
    static constexpr size_t kMostIds = 4 * Memo::kLongest;

    static bool is_ascii(WordKey key) { return ((key.lo | key.hi) & 0x8080808080808080u) == 0; }

    template <typename Make>
    void encode_block(Bytes text, const Piece* pieces, size_t n, IdBuffer* out, Make&& make, const MergeTables* ascii) {
        auto& b = block_;
        b.refresh(memo_, cache_);
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

    // Entries for what the cache did not have: from the memo; then what can be merged together; then the others one by
    // one. Until it is made, an entry says that it is not kept, which is true if one of the others cannot be made.
    template <typename PieceAt, typename Make>
    void resolve_misses(size_t n_missed, PieceAt piece_at, Make&& make, const MergeTables* ascii) {
        auto& b = block_;
        size_t n_tasks = 0, n_waiting = 0, n_left = 0;
        made_.clear();
        made_.reserve_more(n_missed * MergeTask::kRoom);  // so that nothing fails while an entry waits for its task
        for (size_t j = 0; j < n_missed; ++j) {
            const Bytes piece = piece_at(b.missed[j]);
            if (piece.size - 1 >= Memo::kLongest) continue;
            hashes_[j] = is_long(piece) ? MemoReader::hash_of(piece) : MemoReader::hash_of(b.keys[b.missed[j]]);
            memo_.prefetch_place(hashes_[j]);
        }
        for (size_t j = 0; j < n_missed; ++j) {
            const Bytes piece = piece_at(b.missed[j]);
            const WordKey key = b.keys[b.missed[j]];
            WordEntry& made = b.made[j];
            b.entries[b.missed[j]] = &made;
            if (is_long(piece)) {
                left_[n_left++] = uint32_t(j);
                if (piece.size - 1 < Memo::kLongest) memo_.prefetch_record(key_of(j, piece), hashes_[j]);
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
                recent_of(j) = uint16_t(j);
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
    }

    template <typename Make>
    void make_one(size_t j, Bytes piece, Make&& make) {
        auto& b = block_;
        if (is_long(piece)) {
            b.made[j] = entry_of_kind({0, 0}, kUncached);
            if (piece.size - 1 >= Memo::kLongest) return;
            if (memo_.find(key_of(j, piece), hashes_[j], piece, &b.made[j])) return;
        } else if (find_made(j)) {
            return;
        }
        const size_t start = made_.size();
        make(piece, &made_);
        const size_t count = made_.size() - start;
        made_.shrink_by(count);
        set_made(j, piece, reinterpret_cast<const uint32_t*>(made_.data()) + start, count);
        if (!is_long(piece)) recent_of(j) = uint16_t(j);
    }

    // Sets made[j] of a piece with these ids, and keeps them.
    void set_made(size_t j, Bytes piece, const uint32_t* ids, size_t count) {
        WordEntry& made = block_.made[j];
        const WordKey key = key_of(j, piece);
        if (!is_long(piece) && count <= kWordIds) {
            made = make_word_entry(key, ids, count);
            memo_.keep(made, hashes_[j]);
            return;
        }
        made = entry_of_kind(key, kUncached);
        if (count > kMostIds) return;
        const Bytes longer = is_long(piece) ? piece : Bytes();
        if (!memo_.find(key, hashes_[j], longer, &made)) made = memo_.keep(key, hashes_[j], longer, ids, count);
    }

    static bool is_long(Bytes piece) { return piece.size - 1 >= kWordKeyBytes; }
    // How the memo knows a piece.
    WordKey key_of(size_t j, Bytes piece) const {
        return is_long(piece) ? MemoReader::key_of(piece, hashes_[j]) : block_.keys[block_.missed[j]];
    }
    uint16_t& recent_of(size_t j) { return block_.recent[hashes_[j] % block_.kRecent]; }

    // Sets made[j] where a short piece was made before: shortly, or where the memo has it.
    bool find_made(size_t j) {
        auto& b = block_;
        const WordKey key = b.keys[b.missed[j]];
        uint16_t& recent = recent_of(j);
        if (word_matches(b.made[recent], key)) {
            b.made[j] = b.made[recent];
        } else if (!memo_.find(key, hashes_[j], {}, &b.made[j])) {
            return false;
        }
        recent = uint16_t(j);
        return true;
    }

    template <typename Make>
    void write_kept(Bytes piece, const WordEntry& entry, IdBuffer* out, Make&& make) {
        if (word_ids(entry) != kRecorded) return make(piece, out);
        const MemoReader::Record& record = memo_.record_of(entry);
        out->reserve_more(record.count() + kWordIds);
        out->advance(record.copy(reinterpret_cast<uint32_t*>(out->end())));
    }

    const WordKernels& kernels_;
    MemoReader memo_;
    WordCache cache_;
    WordBlock<kBlock> block_;
    // Of a block's missed pieces: their hashes, those to be made one by one, those that tasks make.
    uint64_t hashes_[kBlock];
    uint32_t left_[kBlock], waiting_[kBlock];
    MergeTask tasks_[kBlock];
    uint32_t merged_[kBlock][MergeTask::kRoom];  // what they write
    IdBuffer made_;                              // what is made one by one
};

}  // namespace crayon
