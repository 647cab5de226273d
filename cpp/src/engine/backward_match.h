// The longest key at each place of a text, in time that is linear in the text whatever the keys.
//
// Walking a trie from each place anew takes as long as the keys are. So the text is read from its end, through an
// automaton over the keys spelled backwards (A. Aho, M. Corasick, "Efficient String Matching", 1975): having read back
// to a place, it knows the longest stretch from there that some key ends with, and so all keys that begin there.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/cartridge/double_array.h"
#include "crayon/support/bytes.h"

namespace crayon {

class BackwardMatch {
  public:
    struct Match {
        uint32_t size = 0;  // bytes; 0: no key
        int32_t value = -1;
    };

    // Copies the keys of a trie; takes time and memory for every byte of every key. Does not work with more than 256
    // MiB of keys, or with a damaged trie.
    explicit BackwardMatch(const DoubleArrayView& trie);
    bool works() const { return works_; }
    size_t longest() const { return longest_; }

    // Of each place of text[from, to) the longest key that the text goes on with.
    void match(Bytes text, size_t from, size_t to, std::vector<Match>* out) const;

  private:
    DoubleArray trie_;              // of the keys backwards
    std::vector<int32_t> failure_;  // of each node: that of its longest proper suffix that has one
    std::vector<Match> matches_;    // of each node: its longest suffix that is a key
    size_t longest_ = 0;            // bytes
    bool works_ = true;
};

}  // namespace crayon
