// A text on its way through normalizers and pre-tokenizers, with the origin of each byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "crayon/support/bytes.h"

namespace crayon {

// For one byte of a changed text: the range of bytes in the original text that the reference aligns it with. All bytes
// of a character have the same range.
struct Alignment {
    uint32_t start;
    uint32_t end;
};

// tokenizers' NormalizedString, without the original text. Alignments cost several times as much as the text, so calls
// that return only ids omit them.
struct AlignedText {
    std::string text;                   // valid UTF-8
    std::vector<Alignment> alignments;  // one per byte of `text` if `aligned`, else empty
    bool aligned = true;
    // Without alignments: how many bytes at the front would have the empty alignment (0, 0), because they were inserted
    // before the first character. The reference drops them when it changes the whole text, so the text depends on them.
    size_t unplaced = 0;
    // Whether a longer text was cut at a seam (seams.h), and this is its second part. It begins inside the longer text.
    bool continues = false;

    // Copies `original`, with each character aligned to itself.
    void assign(Bytes original, bool with_alignments);
    size_t size() const { return text.size(); }
};

// How many bytes at the front have an empty alignment, whether the text is aligned or not.
size_t unplaced_bytes(const AlignedText& text);

// One character of a replacement: tokenizers' (char, change). `change` 1 inserts it with the alignment of the character
// before it; 0 replaces the next old character; -n replaces that one and drops n more.
struct Change {
    uint32_t code_point;
    int32_t change;
};

// tokenizers' transform_range over bytes [start, end): drops the first `dropped` old characters, then replaces the
// others by `changes`. The changes may not replace more characters than the range has. Throws Error(argument) if the
// changes replace a character past the end of the text, where tokenizers panics.
void transform(AlignedText* text, size_t start, size_t end, const std::vector<Change>& changes, size_t dropped);

}  // namespace crayon
