// Where longest match can cut a text into words, so that the ids of words seen before can be looked up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/cartridge/double_array.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"

namespace crayon {

// A seam is a place between two bytes that no key of a trie has side by side. No match reaches over it, so that
// matching begins anew there. Words end where a seam is and the pattern of GPT-2 ends a pretoken.
class MatchSeams {
  public:
    static constexpr size_t kWords = 256;  // that are cut together

    MatchSeams() = default;
    MatchSeams(const DoubleArrayView& trie, CpuLevel level);

    // Whether there are any between letters and a space.
    bool exist() const { return exist_; }

    // Whether there is one between two characters.
    bool divide(const Border& border) const;

    // The first words of `text` (not empty), up to kWords: each ends at a seam or at the end of the text. Returns how
    // many there are: 0 where the first one does not end within 4 GiB.
    size_t words(Bytes text, Piece* words) const;

  private:
    bool is_seam(uint8_t before, uint8_t after) const { return seams_[before][after >> 6] >> (after & 63) & 1; }

    bool exist_ = false;
    ScanFunction scan_ = nullptr;
    uint64_t seams_[256][4] = {};  // a bit for each pair of bytes
};

}  // namespace crayon
