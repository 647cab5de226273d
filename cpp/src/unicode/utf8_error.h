// utf8_error (unicode.h) by the best instruction set that may be used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/target.h"

namespace crayon {

// Offset of the first byte that is not valid UTF-8, or the size.
using Utf8Error = size_t (*)(const uint8_t* text, size_t size);

// Asks for the instruction set as selected_cpu_level does: once for a call of ours, not for each text.
Utf8Error best_utf8_error();

#if CRAYON_X86_64
// How many bytes from the beginning are valid for sure: whole characters, and all but the last 64 or so of text that is
// valid.
size_t avx2_utf8_prefix(const uint8_t* text, size_t size);
#endif

}  // namespace crayon
