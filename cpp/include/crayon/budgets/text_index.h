// Answers questions about the tokens of any range of a text, after one pass over it. Re-encodes only a range's edges.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/texts/text_view.h"

namespace crayon {

class Seams;
class PartEncoder;

// A text can be cut at seams (seams.h) without changing its tokens, so the index keeps the number of tokens before each
// seam. Ranges are in units of the text, which must be characters: UTF-8 only if it is ASCII. Each answer equals
// encoding the range as a text of its own. Immutable, except for grow().
class TextIndex {
  public:
    // Keeps a view of the text, which must outlive the index. Throws Error(unsupported) if encoding is random
    // (dropout). With `whole`, reads all of the text now, and throws NotUnicode. `begin` is 0, or a seam; no range may
    // start before it.
    TextIndex(std::shared_ptr<const Engine> engine, const TextView& text, bool special_as_text, bool whole = true,
              size_t begin = 0);
    ~TextIndex();

    size_t count(size_t start, size_t end) const;
    void ids(size_t start, size_t end, IdBuffer* out) const;
    // Returns the end of the longest range from `start` that fits into `most` tokens. The range ends at a token's
    // border in the encoding of text[start:], and its own encoding has at most `most` tokens.
    size_t longest(size_t start, size_t most) const;
    // The start of the longest range that ends at `end`, by the same rules.
    size_t longest_before(size_t end, size_t most) const;
    // An upper limit of the units of text that a call with this range encodes.
    size_t work(size_t start, size_t end) const;

    // Only for an index that is not `whole`: reads more text, until the text that was read has more than `tokens`
    // tokens. Returns whether it has.
    bool grow(size_t tokens);
    size_t known_tokens() const { return places_.back().before; }

  private:
    // A seam, the beginning or the end of the text, and the number of tokens before it.
    struct SeamCount {
        size_t at, before;
    };
    struct Edges {
        const SeamCount *first, *last;  // the seams inside the range; none if last <= first
    };
    struct Cuts;

    bool is_whole() const { return places_.back().at == text_.size; }
    Edges edges(size_t start, size_t end) const;
    size_t count(size_t start, size_t end, PartEncoder* encoder) const;
    bool continues(size_t start) const { return start == places_.front().at && start > 0; }

    const std::shared_ptr<const Engine> engine_;
    const TextView text_;
    const bool special_as_text_;
    const Seams& seams_;
    std::vector<SeamCount> places_;
};

}  // namespace crayon
