// The four normalization forms of Unicode (UAX #15), by the tables of the reference.
#pragma once

#include "crayon/normalizers/aligned_text.h"
#include "crayon/support/bytes.h"
#include "crayon/unicode/border.h"

namespace crayon {

enum class Form { nfc, nfd, nfkc, nfkd };

// True when the form of the text surely is the text. False may be wrong.
bool is_form_quick(Form form, Bytes text);

// Turns the text into the form. False when nothing had to change.
bool to_form(Form form, AlignedText* text);

// Normalizer::divides.
bool form_divides(Form form, Border* border);

}  // namespace crayon
