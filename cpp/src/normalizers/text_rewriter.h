// Writes the text that takes the place of another, from the front to the back, with alignments when there are any.
//
// It follows tokenizers' `transform`: every character written replaces the next old ones, or none, and has the
// alignment of the first it replaces, or of the one before. Which old character a new one was made from plays no part:
// what removes a character without saying so shifts the alignments of all that follows.
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
    // Over bytes [start, end) of the text; what is around them stays.
    TextRewriter(AlignedText* text, size_t start, size_t end);
    // Over the whole text as tokenizers' `transform` takes it: without the bytes at the front that have no place.
    explicit TextRewriter(AlignedText* text) : TextRewriter(text, unplaced_bytes(*text), text->size()) {}
    TextRewriter(const TextRewriter&) = delete;
    TextRewriter& operator=(const TextRewriter&) = delete;
    ~TextRewriter();

    // Writes one character, as `Change` has it.
    void put(uint32_t code_point, int32_t change) {
        char bytes[4];
        const size_t size = put_utf8(code_point, bytes);
        if (tracked_) align(size, change);
        out_.append(bytes, size);
    }
    // Old characters that each replace one: themselves, when as many were replaced as stand before them.
    void keep(const uint8_t* from, const uint8_t* to);
    // Leaves out the next old characters: as many as there are in these bytes.
    void drop(const uint8_t* from, const uint8_t* to);
    void drop(size_t characters);

    // Puts the new text in the place of the old.
    void finish();

  private:
    void align(size_t size, int32_t change);
    void advance(size_t characters);

    AlignedText* text_;
    const uint8_t* begin_;  // of the text
    const uint8_t* next_;   // the next old character to be replaced
    const uint8_t* end_;    // of the range
    bool tracked_;          // alignments are written
    bool borrowed_;         // and only to see what is unplaced: the text has none
    std::string out_;
    std::vector<Alignment> alignments_;
};

}  // namespace crayon
