// Finds added tokens in a text, as tokenizers' AddedVocabulary does: leftmost-longest over all contents, then the
// conditions of each token (single_word, lstrip, rstrip). Takes time linear in the text, whatever the tokens.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "crayon/cartridge/cartridge.h"

namespace crayon {

constexpr int32_t kPlainText = -1;

struct MatchedPart {
    size_t start, stop;  // bytes
    int32_t added;       // index into the cartridge's added tokens, or kPlainText
};

class AddedMatcher {
  public:
    AddedMatcher() = default;
    AddedMatcher(const DoubleArrayView& trie, Array<AddedToken> tokens);

    bool empty() const { return trie_.size == 0; }
    // Whether some token's content may begin with, or equal, the last bytes of the text: up to `longest` of them.
    // Subtracts its trie steps from `steps_left`, and returns true when that reaches 0.
    bool may_go_on(Bytes text, size_t longest, size_t* steps_left) const;
    // Whether the text contains the content of some added token.
    bool finds(Bytes text) const;
    // Replaces `out` by parts that cover `text` in order. As in the reference, neighbours may overlap in white space
    // that rstrip took and the next token begins with. `special_as_text` skips special tokens.
    void split(Bytes text, bool special_as_text, std::vector<MatchedPart>* out) const;

  private:
    class Longest;
    struct Backward;

    size_t next_candidate(Bytes text, size_t from) const;

    DoubleArrayView trie_;
    Array<AddedToken> tokens_;
    std::array<bool, 256> starts_{};
    int only_start_ = -1;  // the byte that every content begins with, or -1 without one
    std::shared_ptr<Backward> backward_;
};

}  // namespace crayon
