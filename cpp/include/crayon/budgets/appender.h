// The tokens of a text that grows and shrinks at its ends. A change re-encodes only the text near it.
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
class PartEncoder;

// Use it from one thread at a time. A call that throws changes nothing.
class Appender {
  public:
    // Throws Error(unsupported) if encoding is random (dropout).
    Appender(std::shared_ptr<const Engine> engine, bool special_as_text);

    // Appends UTF-8. Returns how many ids at the start are unchanged.
    size_t append(std::string_view text);
    // Prepends UTF-8. Returns how many ids at the end are unchanged.
    size_t prepend(std::string_view text);
    // Removes `characters` characters from the end; the text must have that many. Returns how many ids at the start are
    // unchanged.
    size_t pop(size_t characters);

    size_t count() const { return count_; }
    size_t characters() const { return characters_; }
    std::string text() const;
    // Appends ids [start, count()) to `out`.
    void ids_from(size_t start, IdBuffer* out) const;

  private:
    // Text between two seams that stay seams however the rest of the text changes.
    struct SeamText {
        std::string text;
        size_t characters;
        std::vector<int32_t> ids;
    };
    using Parts = std::vector<SeamText>;

    Parts parts_of(const std::string& text, bool continues) const;
    size_t replace_last(size_t n, const std::string& text);
    void add(const SeamText& part);
    void subtract(const SeamText& part);

    const std::shared_ptr<const Engine> engine_;
    const bool special_as_text_;
    const Seams& seams_;
    std::deque<SeamText> parts_;
    size_t count_ = 0, characters_ = 0;
};

}  // namespace crayon
