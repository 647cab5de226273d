// What decoders do to a token's string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crayon {

// Of the character at a place.
size_t character_size(const std::string& text, size_t at);
// Rust's str::replace: an empty `what` is before and after every character.
void replace_all(std::string* text, const std::string& what, const std::string& by);
// How many times replace_all finds it.
size_t count_of(const std::string& what, const std::string& text);
// Takes away what English text loses when its punctuation is split off.
void clean_up(std::string* text);
// The byte of <0x41>, or -1.
int byte_of(std::string_view token);

}  // namespace crayon
