// Writes a new text in place of an old one, from front to back, with alignments if the text has them.
//
// It follows tokenizers' `transform`: every new character replaces the next old ones, or none. It has the alignment of
// the first old character that it replaces, or else of the new character before it. Alignments follow from these
// numbers alone, whichever character a new one comes from. So a step that removes a character without reporting it
// shifts all later alignments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "crayon/normalizers/aligned_text.h"
#include "unicode/utf8_chars.h"

namespace crayon {

class TextRewriter {
  public:
    // Rewrites bytes [start, end) of the text; the rest stays.
    TextRewriter(AlignedText* text, size_t start, size_t end);
    // Rewrites the whole text as tokenizers' `transform` does: this drops the bytes at the front that have no place in
    // the original text.
    explicit TextRewriter(AlignedText* text) : TextRewriter(text, unplaced_bytes(*text), text->size()) {}
    TextRewriter(const TextRewriter&) = delete;
    TextRewriter& operator=(const TextRewriter&) = delete;
    ~TextRewriter();

    // Writes one character, as described at `Change`.
    void put(uint32_t code_point, int32_t change) {
        char bytes[4];
        const size_t size = put_utf8(code_point, bytes);
        if (tracked_) align(size, change);
        out_.append(bytes, size);
    }
    // Writes unchanged characters [from, to) of the old text. Each replaces the next old character, which is itself if
    // all characters before it were replaced or dropped.
    void keep(const uint8_t* from, const uint8_t* to);
    // Drops as many old characters as bytes [from, to) have.
    void drop(const uint8_t* from, const uint8_t* to);
    void drop(size_t characters);

    // Replaces the old text by the new one.
    void finish();

  private:
    void align(size_t size, int32_t change);
    void advance(size_t characters);

    AlignedText* text_;
    const uint8_t* begin_;  // of the text
    const uint8_t* next_;   // the next old character to replace
    const uint8_t* end_;    // of the range
    bool tracked_;          // whether alignments are written
    bool borrowed_;         // whether alignments exist only during this rewrite, to track unplaced bytes
    std::string out_;
    std::vector<Alignment> alignments_;
};

}  // namespace crayon
