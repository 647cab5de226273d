// Character properties as Hugging Face tokenizers and tiktoken see them. tools/unicode/ measured the tables from these
// libraries over every code point, because each library carries its own Unicode version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/unicode/flavor.h"

namespace crayon {

// One class per code point, enough for every published pre-tokenizer pattern.
enum class CharClass : uint8_t {
    other = 0,    // punctuation, symbols, controls, unassigned
    upper = 1,    // \p{Lu} \p{Lt}
    lower = 2,    // \p{Ll}
    letter = 3,   // \p{Lm} \p{Lo}: letters that are both "upper" and "lower" to o200k and tekken
    mark = 4,     // \p{M}
    number = 5,   // \p{N}
    space = 6,    // \s except CR and LF
    newline = 7,  // CR, LF
};

CharClass char_class(Flavor flavor, uint32_t code_point);

// Rust's regex \w and \s, for `single_word`, `lstrip` and `rstrip` of added tokens.
bool is_word_char(uint32_t code_point);
bool is_white_space(uint32_t code_point);

struct CodePointRange {
    uint32_t first, last;
};

// Returns the code points of Oniguruma's \p{name}, in order. `name` is in lower case, without spaces, underscores and
// hyphens. Throws Error(argument) for an unknown name.
std::vector<CodePointRange> property_ranges(std::string_view name);

struct Decoded {
    uint32_t code_point;  // undefined unless valid
    uint32_t size;        // bytes consumed; 1 unless valid
    bool valid;
};

// Decodes one character at p < end: shortest form only, no surrogates, at most U+10FFFF (Unicode 15, table 3-7).
Decoded decode_utf8(const uint8_t* p, const uint8_t* end);

// Decodes backwards: the character that ends at `p` (begin < p).
Decoded decode_utf8_before(const uint8_t* begin, const uint8_t* p);

// The offset of the first byte that is not valid UTF-8, or `size`. Fast on ASCII.
size_t utf8_error(const uint8_t* text, size_t size);

// text[0, size) with every maximal invalid subpart replaced by U+FFFD, as Rust's String::from_utf8_lossy and Python's
// errors="replace" do.
std::string utf8_lossy(const uint8_t* text, size_t size);

}  // namespace crayon
