// Seams: places where a text can be cut so that encoding the parts, one after the other, gives what encoding the whole
// gives, whatever stands farther away on both sides.
//
// What decides is a border: the characters on both sides of the place. A text goes through one step after the other
// (normalizer, pre-tokenizer, model), and each step says of the border it meets whether it divides there, and what the
// border is behind it. A step that has no such proof says no: then there is no seam.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {

// A character that is not known. There is one, or the end of the text, but it may be any.
constexpr uint32_t kUnknownChar = 0xFFFFFFFFu;

// Characters as code points, those next to the place first. The nearest one before is there for sure, known or not, so
// that no part becomes empty. Of the others nothing but the neighbours' freedom from them may be concluded, because the
// piece that a step works on may end or begin between them.
struct Border {
    static constexpr size_t kBefore = 2, kAfter = 3;
    uint32_t before[kBefore] = {kUnknownChar, kUnknownChar};
    uint32_t after[kAfter] = {kUnknownChar, kUnknownChar, kUnknownChar};
};

// For steps that work on each character by itself. `map` gives what becomes of one: a character, or kUnknownChar if it
// becomes none or several. Characters that are not known can be removed if `removes`: the one before the place must not
// be.
template <typename Map>
bool map_border(Border* border, bool removes, Map&& map) {
    if (removes && border->before[0] == kUnknownChar) return false;
    for (uint32_t& c : border->before) {
        if (c != kUnknownChar && (c = map(c)) == kUnknownChar && &c == border->before) return false;
    }
    if (border->before[0] == kUnknownChar) border->before[1] = kUnknownChar;
    for (uint32_t* c = border->after; c != border->after + Border::kAfter; ++c) {
        if (*c != kUnknownChar) *c = map(*c);
        if (*c == kUnknownChar) {
            // Behind one that is not there any more others move up.
            if (c == border->after) return false;
            for (; c != border->after + Border::kAfter; ++c) *c = kUnknownChar;
            break;
        }
    }
    return true;
}

// What a pre-tokenizer does at a border.
enum class Division {
    none,     // cutting the text there may change pieces
    through,  // no pieces change, but one that reaches over the place is cut there
    apart,    // the pieces of the whole are those of the parts
};

}  // namespace crayon
