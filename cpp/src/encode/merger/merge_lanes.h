// Merges pretokens of up to 15 or 31 bytes, with 16 or 32 lanes for each, on instruction sets that hold them in one to
// four registers. Lane i holds the rank of the pair that begins at byte i, with i in the low bits, so the least lane is
// the next merge. All ones mean that the pair does not merge. In bits, of 32 lanes:
//    rrrrrrrr rrrrrrrr rrrrrrrr rrr_____ rank
//    ________ ________ ________ ___iiiii byte where the pair begins
//
// A round does one merge in each of several pretokens, in passes over them. The passes find the least lane and its
// product, hash the two pairs that the product forms, and look up their ranks. In a pass, the memory accesses of all
// pretokens overlap, and no branch depends on a loaded value. A mask tells which pretokens have finished.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "encode/merger/merge.h"
#include "encode/merger/merge_batch.h"

namespace crayon {

// The low bits of a lane that hold its number.
constexpr uint32_t lane_bits(size_t lanes) {
    return lanes == 16 ? 4 : 5;
}
static_assert(kMaxMerges < UINT32_MAX >> lane_bits(32), "a rank leaves room for a place");

// `Lanes` provides 16 or 32 lanes:
//  - static constexpr size_t kCount: their number
//  - static constexpr size_t kTogether: pretokens in turn, up to 32
//  - Lanes(tables, const uint8_t* bytes, uint32_t pairs): the ranks of the pairs at the first `pairs` bytes
//  - uint32_t least(): the least lane
//  - void change(gone, here, here_rank, there, there_rank): sets lane `gone` to all ones and lanes
//    `here` and `there` to ranks. If `there` is -1, it may set lane 31, where no pair begins
//  - static void load_ids(tables, const uint8_t* bytes, uint32_t* ids): loads the ids of kCount single bytes
//  - static void write_ids(const uint32_t* ids, uint32_t which, uint32_t* out): writes the ids of a mask, in order
template <typename Lanes>
class MergeLanes {
  public:
    static void merge(const MergeTables& tables, MergeTask* begin, MergeTask* end) {
        MergeLanes(tables, begin, end).run();
    }

  private:
    static constexpr uint32_t kNone = 0xFFFFFFFFu;
    static constexpr uint32_t kNoToken = kMaxIds;  // in no pair
    static constexpr uint32_t kBits = lane_bits(Lanes::kCount);

    struct Word {
        Lanes lanes;
        uint32_t ids[1 + Lanes::kCount + 1];  // tokens, at 1 + the byte where each begins; kNoToken around them
        uint32_t begins;                      // one bit for each start of a token, and one for the end
        MergeTask* task;
        // The current merge: its place, its product, the place of the token before it (-1: none), and the place that
        // vanishes. Also the two new pairs, and their slots.
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
            // From the last ended pretoken down, so that the pretoken that takes its place was examined already.
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
        w->task = task;
        w->begins = (2u << task->size) - 1;
        w->lanes = Lanes(t_, task->bytes, task->size - 1);
        w->ids[0] = kNoToken;
        Lanes::load_ids(t_, task->bytes, w->ids + 1);
        w->ids[1 + task->size] = kNoToken;
    }

    // Chooses the next merge. Returns 1 if none is left.
    uint32_t choose(Word* w) const {
        const uint32_t least = w->lanes.least(), none = uint32_t(least == kNone);
        w->at = least & (Lanes::kCount - 1);
        w->product = t_.products[(least >> kBits) & (none - 1)];
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
            asm("" : "+r"(missing));  // otherwise it becomes a branch, taken half of the time
#endif
            return (uint32_t(slot & kMaxMerges) << kBits | place) | missing;
        };
        w->lanes.change(w->gone, w->at, lane(0, w->at), w->before, lane(1, w->before));
    }

    static void finish(const Word& w) {
        const uint32_t which = w.begins ^ 1u << w.task->size;
        Lanes::write_ids(w.ids + 1, which, w.task->out);
        w.task->count = size_t(_mm_popcnt_u32(which));
    }

    const MergeTables& t_;
    MergeTask *next_, *const end_;
    Word words_[Lanes::kTogether];
    Word* order_[Lanes::kTogether];
    size_t running_ = 0;
};

// Merges pretokens that fit 16 lanes, which come first, and then pretokens that need 32.
template <typename Lanes16, typename Lanes32>
void merge_by_size(const MergeTables& tables, MergeTask* tasks, size_t n) {
    MergeTask* const longer =
        std::partition_point(tasks, tasks + n, [](const MergeTask& task) { return task.size < Lanes16::kCount; });
    MergeLanes<Lanes16>::merge(tables, tasks, longer);
    MergeLanes<Lanes32>::merge(tables, longer, tasks + n);
}

}  // namespace crayon
