// A lazy heap of pairs by their last known count, with rare pairs outside it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "training/train_lists.h"

namespace crayon {

struct PairEntry {
    uint64_t count;
    uint64_t key;
    PositionLists::Place list;  // if `size` is 1, the position itself
    uint32_t size;
    uint32_t turn = 0;  // set by the queue
};

// Most pairs are too rare ever to be merged, so rare pairs are kept unsorted until the heap is empty.
class PairQueue {
  public:
    void push(PairEntry entry) {
        entry.turn = turn_++;
        if (entry.count < threshold_) {
            rare_.push_back(entry);
            return;
        }
        heap_.push_back(entry);
        std::push_heap(heap_.begin(), heap_.end(), is_behind);
    }
    // Pops the most frequent pair. Of equally frequent pairs, pops the one with the smallest key. Of the entries of a
    // pair, pops the one that was pushed first. Returns false if the queue is empty.
    bool pop(PairEntry* out) {
        while (heap_.empty()) {
            if (rare_.empty()) return false;
            lower_threshold();
        }
        std::pop_heap(heap_.begin(), heap_.end(), is_behind);
        *out = heap_.back();
        heap_.pop_back();
        return true;
    }

  private:
    static bool is_behind(const PairEntry& a, const PairEntry& b) {
        if (a.count != b.count) return a.count < b.count;
        return a.key != b.key ? a.key > b.key : a.turn > b.turn;
    }
    void lower_threshold() {
        uint64_t most = 0;
        for (const PairEntry& entry : rare_) most = std::max(most, entry.count);
        threshold_ = most / 16;
        const auto kept = std::partition(rare_.begin(), rare_.end(),
                                         [&](const PairEntry& entry) { return entry.count < threshold_; });
        heap_.assign(kept, rare_.end());
        std::make_heap(heap_.begin(), heap_.end(), is_behind);
        rare_.erase(kept, rare_.end());
    }

    std::vector<PairEntry> heap_, rare_;
    uint64_t threshold_ = ~uint64_t(0);
    uint32_t turn_ = 0;
};

}  // namespace crayon
