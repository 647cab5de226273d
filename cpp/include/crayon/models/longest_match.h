// Greedy tokenization: from left to right, the longest token that matches.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "crayon/cartridge/double_array.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"

namespace crayon {

// Replaces ids from `first` on by `id`.
struct UnknownIds {
    uint32_t first = 0xFFFFFFFFu;
    uint32_t id = 0;
    uint32_t operator()(uint32_t token) const { return token < first ? token : id; }
};

// A view of a trie, which must outlive it. Immutable.
class LongestMatch {
  public:
    LongestMatch() = default;
    // Keys whose value is in `never` do not match.
    explicit LongestMatch(const DoubleArrayView& trie, const std::vector<uint32_t>& never = {});

    // Returns the longest key that `text` begins with as {bytes, value}, or {0, -1}.
    std::pair<size_t, int32_t> at(Bytes text) const;

    // Cuts `text` from the left and appends the values. Returns the place where matching stopped: the end, or the first
    // place where no key matches. Time: at most the text's size times the longest key's.
    size_t cut(Bytes text, IdBuffer* out) const;

    bool is_never(int32_t value) const {
        const size_t word = uint32_t(value) >> 6;
        return word < never_.size() && (never_[word] >> (uint32_t(value) & 63) & 1);
    }

  private:
    template <bool kFiltered>
    size_t cut_all(Bytes text, IdBuffer* out) const;

    DoubleArrayView trie_;
    std::vector<uint64_t> never_;  // one bit per value, up to the largest
};

}  // namespace crayon
