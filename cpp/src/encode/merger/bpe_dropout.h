// Merging with dropout (I. Provilkov et al., "BPE-Dropout", 2020), as in Hugging Face tokenizers: a skipped merge
// returns to the queue after the next merge that is not skipped.
#pragma once

#include <cstdint>

namespace crayon {

// Decides which merges are skipped, by random numbers.
class Dropout {
  public:
    explicit Dropout(float probability);

    // SplitMix64 (G. L. Steele et al., "Fast Splittable Pseudorandom Number Generators", 2014), with the 24 bits of a
    // float.
    bool skips() {
        uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ z >> 27) * 0x94D049BB133111EBull;
        return float((z ^ z >> 31) >> 40) * 0x1p-24f < probability_;
    }

  private:
    const float probability_;
    uint64_t state_;
};

}  // namespace crayon
