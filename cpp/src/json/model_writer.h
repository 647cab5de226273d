// Writes the JSON of a model's vocabulary and merges: compact, or with each entry on its own lines, indented as inside
// the member "model".
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "crayon/json/json.h"
#include "crayon/json/scores.h"

namespace crayon::json {

class ModelWriter {
  public:
    ModelWriter(bool pretty, size_t expected) : pretty_(pretty), text_(expected, '\0') {}

    void begin(char bracket) { put(bracket); }
    void token(std::string_view token, int64_t id) {
        next();
        string(token);
        put(pretty_ ? std::string_view(": ") : std::string_view(":"));
        char* const begin = room(24);
        size_ += size_t(std::to_chars(begin, begin + 24, id).ptr - begin);
    }
    void piece(std::string_view token, double score) {
        pair(token, [&] {
            char* const begin = room(kScoreRoom);
            size_ += size_t(write_score(begin, score) - begin);
        });
    }
    void merge(std::string_view first, std::string_view second) {
        pair(first, [&] { string(second); });
    }
    std::string end(char bracket) {
        if (has_entries_) line(kModel);
        put(bracket);
        text_.resize(size_);
        return std::move(text_);
    }

  private:
    // The indentation, in spaces, of a member of the model, of an entry of that member, and of a part of an entry.
    static constexpr size_t kModel = 4, kEntry = 6, kPart = 8;

    template <typename Second>
    void pair(std::string_view first, Second&& second) {
        next();
        put('[');
        line(kPart);
        string(first);
        put(',');
        line(kPart);
        second();
        line(kEntry);
        put(']');
    }
    void next() {
        if (has_entries_) put(',');
        has_entries_ = true;
        line(kEntry);
    }
    void string(std::string_view text) {
        char* const begin = room(6 * text.size() + 2);
        size_ += size_t(write_quoted(begin, text) - begin);
    }
    void put(std::string_view text) {
        std::copy(text.begin(), text.end(), room(text.size()));
        size_ += text.size();
    }
    void put(char c) {
        *room(1) = c;
        ++size_;
    }
    void line(size_t indent) {
        if (!pretty_) return;
        char* const p = room(indent + 1);
        *p = '\n';
        std::fill_n(p + 1, indent, ' ');
        size_ += indent + 1;
    }
    // The position of the next byte, with room for n bytes.
    char* room(size_t n) {
        if (text_.size() - size_ < n) text_.resize(std::max(2 * text_.size(), size_ + n));
        return text_.data() + size_;
    }

    const bool pretty_;
    std::string text_;
    size_t size_ = 0;  // bytes written; the rest of text_ is room
    bool has_entries_ = false;
};

}  // namespace crayon::json
