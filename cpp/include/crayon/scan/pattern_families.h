// Pretoken scanners: where a published `Split` pattern cuts a text.
//
// A scanner works on bytes. It cuts valid UTF-8 exactly where the pattern does in the flavor's library. A byte outside
// valid UTF-8 counts as a character that is neither letter, number nor white space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crayon/support/bytes.h"
#include "crayon/unicode/flavor.h"

namespace crayon {

// The values are stored in cartridges: never renumber.
enum class Family : uint32_t {
    whole = 0,   // no pattern: the whole text is one pretoken
    gpt2 = 1,    // ByteLevel(use_regex), r50k_base, p50k_base
    cl100k = 2,  // tiktoken's cl100k_base (with its `\s++$` rule)
    llama3 = 3,  // cl100k as converted for Hugging Face: digits in groups of up to three
    qwen2 = 4,   // llama3 with single digits
    o200k = 5,   // case-aware words
    tekken = 6,  // o200k without contractions, with single digits
};
constexpr uint32_t kFamilyCount = 7;

const char* family_name(Family family);
bool family_of_name(std::string_view name, Family* family);

// Finds the family of a `Split` regex by its exact published text. Returns false for other patterns.
bool family_of_pattern(std::string_view regex, Flavor flavor, Family* family);

// Returns Oniguruma's pattern for this family, for writing a tokenizer.json, or "" for Family::whole. The pattern means
// the same to Rust's regex crate.
const char* canonical_pattern(Family family);

// Whether this is a published pattern without a scanner of its own that means the same to both regex engines. Regex
// (regex.h) then serves both flavors.
bool is_read_alike(std::string_view regex);

// Every pattern that family_of_pattern knows for a flavor.
std::vector<std::string_view> known_patterns(Flavor flavor);

// Cuts `text` from `pos`, the start of a pretoken, and stores the end offsets of up to `capacity` consecutive
// pretokens. Returns their number, which is less than `capacity` only at the end of the text. Continue at ends[count -
// 1]: no pattern looks behind a pretoken's start. `size` must be the true end of the text, because patterns look ahead
// to it. Never reads outside text[0, size).
using ScanFunction = size_t (*)(const uint8_t* text, size_t size, size_t pos, size_t* ends, size_t capacity);

}  // namespace crayon
