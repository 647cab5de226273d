// The tokens of any range of a text, after one pass over it: a range is encoded anew at its edges alone.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "crayon/batch/text_view.h"
#include "crayon/engine/engine.h"

namespace crayon {

class Seams;
class StretchEncoder;

// Between seams (seams.h) the tokens of a text are those of its parts; their running totals are kept. Ranges are units
// of the text, which are characters: it must not be UTF-8, but where it is ASCII. Answers are those of encoding the
// range by itself, with nothing around it. Immutable once it is made, but for grow().
class TextIndex {
  public:
    // A view of the text, which must live as long. Error(unsupported) where a text has no one encoding (dropout).
    // `whole` reads all of the text, and throws NotUnicode. `begin` is 0, or a seam before which nothing is asked for.
    TextIndex(std::shared_ptr<const Engine> engine, const TextView& text, bool special_as_text, bool whole = true,
              size_t begin = 0);
    ~TextIndex();

    size_t count(size_t start, size_t end) const;
    void ids(size_t start, size_t end, IdBuffer* out) const;
    // The end of the longest range from `start` that is made of at most `most` tokens of the encoding of all that
    // follows there and encodes, by itself, to at most that many.
    size_t longest(size_t start, size_t most) const;
    // The start of the longest range that ends at `end`, likewise.
    size_t longest_before(size_t end, size_t most) const;
    // How many units a call about this range may encode.
    size_t work(size_t start, size_t end) const;

    // Of a text that is not read whole: reads on until it has more than `tokens`; whether it has.
    bool grow(size_t tokens);
    size_t known_tokens() const { return places_.back().before; }

  private:
    // A seam, the beginning or the end, and the tokens before it.
    struct Place {
        size_t at, before;
    };
    struct Edges {
        const Place *first, *last;  // with the places between them inside the range; none if last <= first
    };
    struct Cuts;

    bool is_whole() const { return places_.back().at == text_.size; }
    Edges edges(size_t start, size_t end) const;
    size_t count(size_t start, size_t end, StretchEncoder* encoder) const;
    bool continues(size_t start) const { return start == places_.front().at && start > 0; }

    const std::shared_ptr<const Engine> engine_;
    const TextView text_;
    const bool special_as_text_;
    const Seams& seams_;
    std::vector<Place> places_;
};

}  // namespace crayon
