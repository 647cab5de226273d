// The four normalization forms of Unicode (UAX #15), by the tables of Hugging Face tokenizers.
#pragma once

#include "crayon/normalizers/aligned_text.h"
#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"

namespace crayon {

enum class Form { nfc, nfd, nfkc, nfkd };

// Whether the text is surely in the form. Returns false if unknown.
bool is_form_quick(Form form, Bytes text);

// Converts the text to the form. Returns false if nothing had to change.
bool to_form(Form form, AlignedText* text);

// Normalizer::divides.
bool form_divides(Form form, Border* border);

}  // namespace crayon
