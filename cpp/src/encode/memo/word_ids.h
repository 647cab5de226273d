// From words to ids: the one loop of byte-level BPE, longest match and the models on text.
//
// Blocks of words pass through loops without branches on the text, so that the cache misses of a block overlap. They
// make keys and prefetch lines of the thread's cache, look words up, and write ids. Between the last two loops, the ids
// of words that the cache lacks come from the memo, from the cartridge's word table, or from merging many words
// together.
#pragma once

#include <cstdint>
#include <cstring>

#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "encode/memo/memo.h"
#include "encode/memo/word_block.h"
#include "encode/memo/word_cache.h"
#include "encode/merger/merge.h"
#include "encode/merger/merge_batch.h"
#include "support/prefetch.h"

namespace crayon {

// Chooses no word.
struct NoWord {
    bool operator()(Bytes) const { return false; }
};

// How a model encodes an uncached word: `make(word, out)` appends its ids.
template <typename Make, typename MergesLonger = NoWord>
struct WordMaker {
    const Make& make;
    bool is_id_per_byte = false;  // a word has at most one id per byte
    Array<WordEntry> table = {};  // the cartridge's, or empty
    // Tables to merge words of up to kWordKeyBytes together, all words or only ASCII ones; or null.
    const MergeTables* merges = nullptr;
    bool merges_all = false;
    // Tells which words of more than kWordKeyBytes, up to MergeTask::kLongest, are merged together, too.
    MergesLonger merges_longer = {};

    bool can_merge(WordKey key) const {
        return merges != nullptr && (merges_all || ((key.lo | key.hi) & 0x8080808080808080u) == 0);
    }
    bool can_merge_longer(Bytes word) const {
        return merges != nullptr && word.size <= MergeTask::kLongest && merges_longer(word);
    }
};
template <typename Make, typename MergesLonger = NoWord>
WordMaker(const Make&, bool = false, Array<WordEntry> = {}, const MergeTables* = nullptr, bool = false,
          MergesLonger = {}) -> WordMaker<Make, MergesLonger>;

// The words that a thread has seen, and their ids. Its cache has words of up to 15 bytes. Their entries hold up to 4
// ids; entries with more ids name records of the memo. The memo, which all threads of an engine share, has words of up
// to Memo::kLongest bytes and kMostIds ids.
class WordIds {
  public:
    static constexpr size_t kBlock = 256;  // words looked up together

    // Without a memo, WordIds forgets the words that its cache cannot hold.
    WordIds(const WordKernels& kernels, Memo* memo) : kernels_(kernels), memo_(memo) {}

    // Appends the ids of up to kBlock words of `text`; each starts after the previous one. Calls `on_word(i, number of
    // ids)` for each.
    template <typename Words, typename Maker, typename OnWord>
    void encode(Bytes text, size_t n, Words words, const Maker& maker, IdBuffer* out, OnWord&& on_word) {
        auto& b = block_;
        b.refresh(memo_, cache_);
        const auto word_at = [&](size_t i) { return text.slice(words.start(i), words.end(i)); };
        const bool by_memo = by_memo_ && memo_.has_words();
        b.make_keys(text, n, words, {cache_.buckets()->entries, by_memo ? 63 : cache_.shift()}, kernels_);
        const size_t n_missed =
            by_memo ? memo_.look_up(n, b.keys, b.buckets, b.entries, b.missed) : b.look_up(n, cache_, kernels_);
        if (n_missed > 0) resolve_misses(n_missed, by_memo, word_at, maker);
        if (n_recorded_ > kBlock / 16) prefetch_records(n);
        uint32_t n_recorded = 0;
        // Always writes the entry's four ids: cheaper than a branch on their number.
        const auto reserve = [&](size_t i) {
            out->reserve_more(maker.is_id_per_byte ? words.end(n - 1) - words.start(i) + kWordIds : (n - i) * kWordIds);
            return out->end();
        };
        int32_t* to = reserve(0);
        for (size_t i = 0; i < n; ++i) {
            const WordEntry& entry = *b.entries[i];
            std::memcpy(to, entry.ids, sizeof entry.ids);
            size_t count = word_ids(entry);
            if (count <= kWordIds) {
                to += count;
            } else if (count == kRecorded && maker.is_id_per_byte) {
                count = memo_.record_of(entry).copy(reinterpret_cast<uint32_t*>(to));
                to += count;
                ++n_recorded;
            } else {
                out->advance(size_t(to - out->end()));
                count = write_kept(word_at(i), entry, maker, out);
                to = maker.is_id_per_byte || i + 1 == n ? out->end() : reserve(i + 1);
            }
            on_word(i, count);
        }
        out->advance(size_t(to - out->end()));
        n_recorded_ = n_recorded;
        if (!by_memo) b.keep_made(n_missed, &cache_);
        choose(n);
    }

    // Appends the ids of any number of pieces.
    template <typename Maker>
    void encode(Bytes text, const Piece* pieces, size_t n, const Maker& maker, IdBuffer* out) {
        for (size_t done = 0, some; done < n; done += some) {
            some = n - done < kBlock ? n - done : kBlock;
            encode(text, some, PieceWords{pieces + done}, maker, out, [](size_t, size_t) {});
        }
    }

    // Releases the memo until the next use.
    void rest() { memo_.rest(); }
    size_t bytes() const { return sizeof *this + cache_.bytes() + made_.capacity() * sizeof(int32_t); }

  private:
    static constexpr size_t kMostIds = 4 * Memo::kLongest;
    // Words after which choose() decides, while the cache and the memo are asked first.
    static constexpr uint32_t kTrial = 1 << 13, kByMemo = 1 << 19;

    // Has the memo asked first, where the largest cache lacks many words that the memo knows. Tries the cache again
    // from time to time.
    void choose(size_t n) {
        n_words_ += uint32_t(n);
        if (n_words_ < (by_memo_ ? kByMemo : kTrial)) return;
        by_memo_ = !by_memo_ && cache_.is_largest() && n_known_ > n_words_ / 4;
        n_words_ = n_known_ = 0;
    }

    void prefetch_records(size_t n) {
        size_t n_records = 0;
        for (size_t i = 0; i < n; ++i) {
            left_[n_records] = uint32_t(i);
            n_records += word_ids(*block_.entries[i]) == kRecorded;
        }
        for (size_t k = 0; k < n_records; ++k) prefetch_far(memo_.record_of(*block_.entries[left_[k]]).data);
    }

    // Makes entries for missed words. A word that is encoded alone is kUncached until it has ids, so that an error in
    // one word leaves no entry that names a task.
    template <typename WordAt, typename Maker>
    void resolve_misses(size_t n_missed, bool by_memo, WordAt word_at, const Maker& maker) {
        auto& b = block_;
        const WordEntry* const table = maker.table.data;
        const uint64_t bucket_mask = maker.table.size / 2 - 1;
        size_t n_new = 0, n_tasks = 0, n_waiting = 0, n_long = 0, n_left = 0;
        made_.clear();
        made_.reserve_more(n_missed * MergeTask::kRoom);  // no allocation may fail while an entry names a task
        for (size_t j = 0; j < n_missed; ++j) {
            const Bytes word = word_at(b.missed[j]);
            if (word.size - 1 >= Memo::kLongest) continue;
            hashes_[j] = is_long(word) ? MemoReader::hash_of(word) : MemoReader::hash_of(key_of(j));
            memo_.prefetch_place(hashes_[j] + by_memo);
        }
        for (size_t j = 0; j < n_missed; ++j) {
            const Bytes word = word_at(b.missed[j]);
            WordEntry& made = b.made[j];
            b.entries[b.missed[j]] = &made;
            if (is_long(word)) {
                made = entry_of_kind({0, 0}, word.size > 0 ? kUncached : 0);
                if (word.size - 1 >= Memo::kLongest) continue;
                memo_.prefetch_record(MemoReader::key_of(word, hashes_[j]), hashes_[j]);
                long_[n_long++] = uint32_t(j);
            } else if (!memo_.find(key_of(j), hashes_[j], {}, &made)) {
                if (table != nullptr) prefetch_far(table + 2 * (hashes_[j] & bucket_mask));
                new_[n_new++] = uint32_t(j);
            } else {
                ++n_known_;
            }
        }
        for (size_t k = 0; k < n_new; ++k) {
            const size_t j = new_[k];
            const WordKey key = key_of(j);
            WordEntry& made = b.made[j];
            uint16_t& recent = recent_of(j);
            if (word_matches(b.made[recent], key)) {
                made = b.made[recent];
            } else if (const WordEntry* known = table ? find_word(table, bucket_mask, hashes_[j], key) : nullptr) {
                made = *known;
                memo_.keep(made, hashes_[j]);
            } else if (maker.can_merge(key)) {
                made = entry_of_kind(key, kTask, n_tasks);
                tasks_[n_tasks].set(&key, sizeof key, key.hi >> 56, merged_[n_tasks]);
                ++n_tasks;
            } else {
                made = entry_of_kind({0, 0}, kUncached);
                left_[n_left++] = uint32_t(j);
                continue;
            }
            waiting_[n_waiting] = uint32_t(j);
            n_waiting += word_ids(made) == kTask;
            recent = uint16_t(j);
        }
        for (size_t k = 0; k < n_long; ++k) {
            const size_t j = long_[k];
            const Bytes word = word_at(b.missed[j]);
            if (find_long(j, word)) continue;
            if (maker.can_merge_longer(word)) {
                b.made[j] = entry_of_kind({0, 0}, kTask, n_tasks);
                tasks_[n_tasks].set(word.data, word.size, word.size, merged_[n_tasks]);
                ++n_tasks;
                waiting_[n_waiting++] = uint32_t(j);
            } else {
                left_[n_left++] = uint32_t(j);
            }
        }
        if (n_tasks > 0) maker.merges->batch(*maker.merges, tasks_, n_tasks);
        for (size_t k = 0; k < n_waiting; ++k) {
            const size_t j = waiting_[k];
            const MergeTask& task = tasks_[b.made[j].ids[0]];
            set_made(j, word_at(b.missed[j]), task.out, task.count);
        }
        for (size_t k = 0; k < n_left; ++k) make_one(left_[k], word_at(b.missed[left_[k]]), maker);
    }

    template <typename Maker>
    void make_one(size_t j, Bytes word, const Maker& maker) {
        WordEntry& made = block_.made[j];
        if (is_long(word)) {
            if (find_long(j, word)) return;  // an earlier word of the block may have been the same
        } else if (const WordEntry& recent = block_.made[recent_of(j)]; word_matches(recent, key_of(j))) {
            made = recent;
            return;
        }
        const size_t start = made_.size();
        maker.make(word, &made_);
        const size_t count = made_.size() - start;
        made_.shrink_by(count);
        set_made(j, word, reinterpret_cast<const uint32_t*>(made_.data()) + start, count);
        if (!is_long(word)) recent_of(j) = uint16_t(j);
    }

    // Sets block_.made[j] to the memo's entry of a word of more than kWordKeyBytes, or returns false.
    bool find_long(size_t j, Bytes word) {
        WordEntry& made = block_.made[j];
        if (!memo_.find(MemoReader::key_of(word, hashes_[j]), hashes_[j], word, &made)) return false;
        hold_few(&made);
        return true;
    }

    // Sets block_.made[j] to the entry of a word with these ids, and adds the word to the memo.
    void set_made(size_t j, Bytes word, const uint32_t* ids, size_t count) {
        WordEntry& made = block_.made[j];
        if (!is_long(word) && count <= kWordIds) {
            made = make_word_entry(key_of(j), ids, count);
            memo_.keep(made, hashes_[j]);
            return;
        }
        const WordKey key = is_long(word) ? MemoReader::key_of(word, hashes_[j]) : key_of(j);
        const Bytes longer = is_long(word) ? word : Bytes();
        made = entry_of_kind(is_long(word) ? WordKey{0, 0} : key, kUncached);
        if (count > kMostIds) return;
        if (!memo_.find(key, hashes_[j], longer, &made)) made = memo_.keep(key, hashes_[j], longer, ids, count);
        if (is_long(word)) hold_few(&made);
    }

    // Copies the ids of a long word from its record into its entry, if they fit.
    void hold_few(WordEntry* made) const {
        if (word_ids(*made) != kRecorded) return;
        const MemoReader::Record record = memo_.record_of(*made);
        if (record.count() <= kWordIds) *made = make_word_entry({0, 0}, record.ids(), record.count());
    }

    static bool is_long(Bytes word) { return word.size - 1 >= kWordKeyBytes; }
    WordKey key_of(size_t j) const { return block_.keys[block_.missed[j]]; }
    uint16_t& recent_of(size_t j) { return block_.recent[hashes_[j] % block_.kRecent]; }

    // Writes ids that an entry does not hold itself. Returns their number.
    template <typename Maker>
    size_t write_kept(Bytes word, const WordEntry& entry, const Maker& maker, IdBuffer* out) {
        const size_t before = out->size();
        if (word_ids(entry) == kRecorded) {
            const MemoReader::Record record = memo_.record_of(entry);
            out->reserve_more(record.count() + kWordIds);
            out->advance(record.copy(reinterpret_cast<uint32_t*>(out->end())));
        } else {
            maker.make(word, out);
        }
        return out->size() - before;
    }

    const WordKernels& kernels_;
    MemoReader memo_;
    WordCache cache_;
    WordBlock<kBlock> block_;
    bool by_memo_ = false;                // the memo is asked before the cache
    uint32_t n_words_ = 0, n_known_ = 0;  // since choose() decided: all words, and words that only the memo knew
    uint32_t n_recorded_ = 0;             // of the last block's words
    // Hashes of missed words, in order. Then indices of words: short and not in the memo, made by tasks, long, and made
    // one by one.
    uint64_t hashes_[kBlock];
    uint32_t new_[kBlock], waiting_[kBlock], long_[kBlock], left_[kBlock];
    MergeTask tasks_[kBlock];
    uint32_t merged_[kBlock][MergeTask::kRoom];  // the tasks' output
    IdBuffer made_;                              // ids of words that are made one by one
};

}  // namespace crayon
