// The byte-level alphabet of GPT-2 (A. Radford et al., 2019): a printable character for each of the 256 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "crayon/support/bytes.h"

namespace crayon {

// The code point that spells a byte.
uint32_t byte_level_char(uint8_t byte);

// The byte-level spelling of bytes, in UTF-8.
std::string to_byte_level(Bytes bytes);

// The inverse of to_byte_level. Returns false, with `out` unspecified, if a character of `text` spells no byte.
bool from_byte_level(std::string_view text, std::string* out);

// The numbers of characters at the ends of a token's string that trim_offsets treats as white space: the character that
// spells byte 0x20, and Rust's char::is_whitespace. Each is at most 65535.
struct WhiteEnds {
    uint16_t leading, trailing;
};
WhiteEnds white_ends(std::string_view text);

}  // namespace crayon
