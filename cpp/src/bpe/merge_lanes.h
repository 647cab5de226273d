// Merging pretokens of up to 15 bytes, sixteen lanes for each: for the instruction sets that have so many in a register
// or two. Lane i holds the rank of the pair that begins at byte i, with i below it, so that the least of all lanes is
// the next merge; all ones where there is none.
//
// A round does one merge of each of several pretokens, in passes over them: what is least, and its product; the two
// pairs that the product is in, and their pilots; what they rank. So a pass waits for the memory of all of them at
// once, and for no branch that depends on it: those that have no merge left are told apart by a mask.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <utility>

#include "bpe/merge.h"
#include "bpe/merge_batch.h"

namespace crayon {

// `Lanes` has sixteen lanes:
//   static constexpr size_t kTogether             pretokens in turn, up to 32
//   Lanes(tables, __m128i bytes, uint32_t pairs)  of the first `pairs` bytes, with those that follow them
//   uint32_t least()
//   void change(gone, here, here_rank, there, there_rank)   lanes, and what they get; `gone` all ones; from 16 on none
//   static void load_ids(tables, __m128i bytes, uint32_t* ids)
//   static void write_ids(const uint32_t* ids, uint32_t which, uint32_t* out)    those of a mask, in order
template <typename Lanes>
class MergeLanes {
  public:
    static void merge(const MergeTables& tables, MergeTask* tasks, size_t n) {
        MergeLanes(tables, tasks, tasks + n).run();
    }

  private:
    static constexpr uint32_t kNone = 0xFFFFFFFFu;
    static constexpr uint32_t kNoToken = kMaxIds;  // no pair has it

    struct Word {
        Lanes lanes;
        uint32_t ids[1 + 17];  // of the tokens, at 1 + the byte where each begins; around them what is none
        uint32_t begins;       // a bit for each byte where a token begins, and one for the end
        MergeTask* task;
        // Of the merge under way: the byte where it begins, its product, the byte where the token before begins (-1:
        // none) and the one that is none any more; the two pairs, and where they are among the merges.
        uint32_t at, product, before, gone;
        uint64_t pairs[2];
        uint32_t places[2];

        Word() {}  // NOLINT: nothing is read before start()
    };

    MergeLanes(const MergeTables& tables, MergeTask* next, MergeTask* end) : t_(tables), next_(next), end_(end) {}

    void run() {
        for (; running_ < Lanes::kTogether && next_ < end_; ++running_) {
            order_[running_] = &words_[running_];
            start(order_[running_]);
        }
        for (;;) {
            uint32_t ended = 0;
            for (size_t i = 0; i < running_; ++i) ended |= choose(order_[i]) << i;
            // From the last one on: what takes its place was looked at already.
            while (ended != 0) {
                const size_t i = 31 - _lzcnt_u32(ended);
                const uint32_t bit = uint32_t(1) << i;
                finish(*order_[i]);
                if (next_ < end_) {
                    start(order_[i]);
                    ended ^= choose(order_[i]) ? 0 : bit;
                } else {
                    std::swap(order_[i], order_[--running_]);
                    ended ^= bit;
                }
            }
            if (running_ == 0) return;
            for (size_t i = 0; i < running_; ++i) join(order_[i]);
            for (size_t i = 0; i < running_; ++i) rank(order_[i]);
        }
    }

    void start(Word* w) {
        MergeTask* const task = next_++;
        const __m128i bytes = _mm_set_epi64x(int64_t(task->word.hi), int64_t(task->word.lo));
        const uint32_t size = uint32_t(task->word.hi >> 56);
        w->task = task;
        w->begins = (2u << size) - 1;
        w->lanes = Lanes(t_, bytes, size - 1);
        w->ids[0] = kNoToken;
        Lanes::load_ids(t_, bytes, w->ids + 1);
        w->ids[1 + size] = kNoToken;
    }

    // The next merge; 1 when there is none left.
    uint32_t choose(Word* w) const {
        const uint32_t least = w->lanes.least(), none = uint32_t(least == kNone);
        w->at = least & 15;
        w->product = t_.products[(least >> 4) & (none - 1)];
        return none;
    }

    void join(Word* w) const {
        const uint32_t at = w->at, above = w->begins & ~1u << at, above_gone = above & (above - 1);
        w->gone = _tzcnt_u32(above);
        w->before = 31 - _lzcnt_u32(w->begins & ((1u << at) - 1));
        w->begins ^= 1u << w->gone;
        w->ids[1 + at] = w->product;
        w->pairs[0] = pair_key(w->product, w->ids[1 + _tzcnt_u32(above_gone)]);
        w->pairs[1] = pair_key(w->ids[1 + w->before], w->product);
        for (size_t i = 0; i < 2; ++i) w->places[i] = t_.reachable_place(w->pairs[i]);
    }

    void rank(Word* w) const {
        const auto lane = [&](size_t i, uint32_t place) {
            const uint64_t slot = t_.reachable_slots[w->places[i]];
            uint32_t missing = uint32_t(slot >> kRankBits == w->pairs[i]) - 1;
#if defined(__GNUC__)
            asm("" : "+r"(missing));  // else it becomes a branch, which is taken as often as not
#endif
            return (uint32_t(slot & kMaxMerges) << 4 | place) | missing;
        };
        w->lanes.change(w->gone, w->at, lane(0, w->at), w->before, lane(1, w->before));
    }

    static void finish(const Word& w) {
        const uint32_t size = uint32_t(w.task->word.hi >> 56), which = w.begins ^ 1u << size;
        Lanes::write_ids(w.ids + 1, which, w.task->out);
        w.task->count = size_t(_mm_popcnt_u32(which));
    }

    const MergeTables& t_;
    MergeTask *next_, *const end_;
    Word words_[Lanes::kTogether];
    Word* order_[Lanes::kTogether];
    size_t running_ = 0;
};

}  // namespace crayon
