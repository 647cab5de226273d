// Where longest match can cut a text into words, so that the ids of repeated words can be looked up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/cartridge/double_array.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"

namespace crayon {

// A seam is a place between two bytes that no key of a trie has in sequence. No match crosses it, so matching starts
// anew there. Words end where a seam coincides with the end of a pretoken of GPT-2's pattern.
//
// Example: if no token has "e" before a space, "the cat" is the words "the" and " cat".
class MatchSeams {
  public:
    MatchSeams() = default;
    MatchSeams(const DoubleArrayView& trie, const Kernels& kernels);

    // Whether seams exist between letters and a space.
    bool exist() const { return exist_; }

    // Whether a seam exists between two characters.
    bool divide(const Border& border) const;

    // Cuts `text` into words. Calls on_words(rest of the text, words, n) for the first `n` words, then for the next
    // words, and so on. Each word ends at a seam or at the end of the text. Returns an empty range, or the rest of the
    // text from a word of 4 GiB or more on.
    template <typename OnWords>
    Bytes cut(Bytes text, OnWords&& on_words) const {
        Piece words[kWords];
        while (text.size > 0) {
            const size_t n = find_words(text, words);
            if (n == 0) break;
            on_words(text, words, n);
            text = text.slice(words[n - 1].end, text.size);
        }
        return text;
    }

  private:
    static constexpr size_t kWords = 256;  // words that are cut together

    // Finds the first words of `text`, which is not empty: up to kWords. Returns their number, or 0 if the first one
    // does not end within 4 GiB.
    size_t find_words(Bytes text, Piece* words) const;
    bool is_seam(uint8_t before, uint8_t after) const { return seams_[before][after >> 6] >> (after & 63) & 1; }

    bool exist_ = false;
    ScanFunction scan_ = nullptr;
    uint64_t seams_[256][4] = {};  // one bit per pair of bytes
};

}  // namespace crayon
