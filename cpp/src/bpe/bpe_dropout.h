// Merging that skips merges at random (I. Provilkov et al., "BPE-Dropout", 2020), as the reference does it: a skipped
// merge waits until one that is not skipped has been taken from the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe/merge.h"

namespace crayon {

class DropoutMerger {
  public:
    DropoutMerger();

    // Merges n symbols, and adds up the sizes of those that become one, in place; returns how many are left.
    size_t merge(const MergeTables& tables, float dropout, uint32_t* symbols, uint32_t* sizes, size_t n);

    // Gives back what an unusually large input made grow.
    void trim();

  private:
    static constexpr uint32_t kNone = 0xFFFFFFFFu;

    // Uniform in [0, 1), with the 24 bits of a float.
    float next_random();

    uint64_t state_;
    std::vector<uint32_t> next_, previous_;
    std::vector<uint64_t> queue_, skipped_;  // rank << 32 | position
};

}  // namespace crayon
