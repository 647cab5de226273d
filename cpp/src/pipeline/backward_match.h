// Finds the longest key at each place of a text, in time linear in the text whatever the keys.
//
// Walking a trie anew from each place takes time in proportion to the keys' length. This class reads the text from its
// end instead, with an automaton over the reversed keys (A. Aho, M. Corasick, "Efficient String Matching", 1975). At
// each place the automaton knows the longest text after it that is the end of some key, and so all keys that begin
// there.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/cartridge/double_array.h"
#include "crayon/support/bytes.h"

namespace crayon {

class BackwardMatch {
  public:
    struct Match {
        uint32_t size = 0;  // in bytes; 0: no key
        int32_t value = -1;
    };

    // Copies the keys of a trie, in time and memory proportional to their bytes. With more than 256 MiB of keys, or a
    // damaged trie, works() is false.
    explicit BackwardMatch(const DoubleArrayView& trie);
    bool works() const { return works_; }
    size_t longest() const { return longest_; }

    // For each place of text[from, to), the longest key that starts there.
    void match(Bytes text, size_t from, size_t to, std::vector<Match>* out) const;

  private:
    DoubleArray trie_;              // of the reversed keys
    std::vector<int32_t> failure_;  // for each node: the node of its longest proper suffix in the trie
    std::vector<Match> matches_;    // for each node: its longest suffix that is a key
    size_t longest_ = 0;            // in bytes
    bool works_ = true;
};

}  // namespace crayon
