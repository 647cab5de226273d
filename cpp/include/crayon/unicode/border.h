// Seams: places where a text can be cut so that the ids of the parts, concatenated, are the ids of the whole, whatever
// text is farther away.
//
// Whether a place is a seam follows from its border, the characters on both sides. A text passes through normalizer,
// pre-tokenizer and model. Each step says whether it divides at the border it receives, and passes on the border of its
// own output. A step without a proof answers no, and the place is not a seam.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {

// An unknown character, or perhaps the end of the text.
constexpr uint32_t kUnknownChar = 0xFFFFFFFFu;

// The code points before and after the place, nearest to the place first. A character before the place exists, even if
// it is unknown, so no part becomes empty. Known characters beyond the nearest ones permit only negative conclusions,
// because a step's piece may begin or end between them.
struct Border {
    static constexpr size_t kBefore = 2, kAfter = 3;
    uint32_t before[kBefore] = {kUnknownChar, kUnknownChar};
    uint32_t after[kAfter] = {kUnknownChar, kUnknownChar, kUnknownChar};
};

// Updates a border for a step that maps each character by itself. `map` returns the new character, or kUnknownChar if
// it becomes none or several. With `removes`, an unknown character may vanish; the character before the place must then
// be known.
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
            // If this character vanished, later ones would move up.
            if (c == border->after) return false;
            for (; c != border->after + Border::kAfter; ++c) *c = kUnknownChar;
            break;
        }
    }
    return true;
}

// How a pre-tokenizer treats a border.
enum class Division {
    none,     // Cutting the text here may change pieces.
    through,  // No pieces change, except that a piece across the place is cut in two.
    apart,    // The pieces of the whole are those of the parts.
};

}  // namespace crayon
