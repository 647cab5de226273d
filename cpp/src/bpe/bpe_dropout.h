// Merging with dropout (I. Provilkov et al., "BPE-Dropout", 2020), as in the reference: a skipped merge returns to the
// queue after the next merge that is applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe/merge.h"

namespace crayon {

class DropoutMerger {
  public:
    DropoutMerger();

    // Merges n symbols in place, adding up the sizes of merged ones. Returns how many are left.
    size_t merge(const MergeTables& tables, float dropout, uint32_t* symbols, uint32_t* sizes, size_t n);

    // Frees memory that an unusually large input took.
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
