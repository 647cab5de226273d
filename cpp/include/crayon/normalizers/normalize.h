// Normalizers, with alignments to the text they came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "crayon/normalizers/aligned_text.h"
#include "crayon/support/bytes.h"

namespace crayon {

// True when NFC (Unicode 9.0, as in tokenizers 0.23) surely leaves the text as it is. False may be wrong: then run it.
bool is_nfc_quick(Bytes text);

// Whether NFC changes neither the character nor its place, among any others that are stable, too.
bool is_stable_in_nfc(uint32_t code_point);

// Canonical composition (UAX #15) of valid UTF-8 text with the tables of Unicode 9.0. `out` is replaced. When
// `alignments` is not null it gets one entry per byte of `out`, equal to what tokenizers' NormalizedString records.
void normalize_nfc(Bytes text, std::string* out, std::vector<Alignment>* alignments);

}  // namespace crayon
