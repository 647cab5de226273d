// Steps that change characters one by one. Each is a normalizer by itself or a part of BertNormalizer.
#pragma once

#include <string_view>

#include "crayon/normalizers/aligned_text.h"
#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"

namespace crayon {

// Removes every character of one of the kinds (char_kinds.h), or replaces it by a space.
void remove_kinds(uint32_t kinds, AlignedText* text);
void blank_kinds(uint32_t kinds, AlignedText* text);
void lowercase(AlignedText* text);
// Strips white space at the ends.
void strip(bool left, bool right, AlignedText* text);
// Spells bytes in the byte-level alphabet.
void spell_bytes(AlignedText* text);
void prepend(std::string_view what, AlignedText* text);

bool has_kinds(uint32_t kinds, Bytes text);
bool has_uppercase(Bytes text);
bool is_strippable(bool left, bool right, Bytes text);

// Whether these steps divide at a border (Normalizer::divides).
bool remove_kinds(uint32_t kinds, Border* border);
bool blank_kinds(uint32_t kinds, Border* border);
bool lowercase(Border* border);

}  // namespace crayon
