// Helpers of decoders for the string of a token.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crayon {

// The size of the character at `at`.
size_t character_size(const std::string& text, size_t at);
// Rust's str::replace: an empty `what` matches before and after every character.
void replace_all(std::string* text, const std::string& what, const std::string& by);
// The number of places that replace_all would replace.
size_t count_of(const std::string& what, const std::string& text);
// Removes the spaces that English text gets when its punctuation is split off.
void clean_up(std::string* text);
// Returns the byte that a token such as <0x41> names, or -1.
int byte_of(std::string_view token);

}  // namespace crayon
