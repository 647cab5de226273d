// A text that grows and shrinks at its ends, with its tokens: a change encodes anew what is near to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/engine/engine.h"

namespace crayon {

class Seams;
class StretchEncoder;

// For one thread at a time. A call that throws leaves everything as it was.
class Appender {
  public:
    // Error(unsupported) where a text has no one encoding (dropout).
    Appender(std::shared_ptr<const Engine> engine, bool special_as_text);

    // Text is UTF-8. The number of ids at the beginning that are still the same.
    size_t append(std::string_view text);
    // The number of ids at the end that are still the same.
    size_t prepend(std::string_view text);
    // Removes so many characters, which there must be, from the end. As append.
    size_t pop(size_t characters);

    size_t count() const { return count_; }
    size_t characters() const { return characters_; }
    std::string text() const;
    // Appends the ids from number `start` on.
    void ids_from(size_t start, IdBuffer* out) const;

  private:
    // Between seams that no change on the other side of the text can move.
    struct Part {
        std::string text;
        size_t characters;
        std::vector<int32_t> ids;
    };
    using Parts = std::vector<Part>;

    Parts parts_of(const std::string& text, bool continues) const;
    size_t replace_last(size_t n, const std::string& text);
    void add(const Part& part);
    void subtract(const Part& part);

    const std::shared_ptr<const Engine> engine_;
    const bool special_as_text_;
    const Seams& seams_;
    std::deque<Part> parts_;
    size_t count_ = 0, characters_ = 0;
};

}  // namespace crayon
