// A text on its way through normalizers and pre-tokenizers, with where each of its bytes comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "crayon/support/bytes.h"

namespace crayon {

// For one byte of a changed text: the byte range of the original text that the reference aligns it with. All bytes of
// one character have the same.
struct Alignment {
    uint32_t start;
    uint32_t end;
};

// tokenizers' NormalizedString, without the original text. Alignments cost several times what the text costs, so paths
// that give ids alone go without.
struct AlignedText {
    std::string text;                   // valid UTF-8
    std::vector<Alignment> alignments;  // one per byte of `text` when `aligned`, else none
    bool aligned = true;
    // Without alignments: how many bytes at the front have an empty one, (0, 0), because they were inserted before the
    // first character. The reference leaves them out when it changes the whole text, so the text depends on them.
    size_t unplaced = 0;
    // True for what goes on from a text that was cut at a seam (seams.h): it has no beginning of its own.
    bool continues = false;

    // Becomes a copy of `original`, each character aligned with itself.
    void assign(Bytes original, bool with_alignments);
    size_t size() const { return text.size(); }
};

// How many bytes at the front of the text have an empty alignment, whether it is aligned or not.
size_t unplaced_bytes(const AlignedText& text);

// One character of the text that replaces another: tokenizers' (char, change). `change` 1 says a new character, which
// shares the alignment of what stands before it; 0 replaces the next old one; -n replaces it and drops n more.
struct Change {
    uint32_t code_point;
    int32_t change;
};

// tokenizers' transform_range over bytes [start, end): the old characters there become `changes`, after the first
// `dropped` of them were left out. The changes replace no more characters than that range has. Error(argument) when the
// changes replace a character past the end of the text, where tokenizers panics.
void transform(AlignedText* text, size_t start, size_t end, const std::vector<Change>& changes, size_t dropped);

}  // namespace crayon
