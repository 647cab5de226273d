// utf8_error (unicode.h) with the best permitted instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/target.h"

namespace crayon {

// The offset of the first byte that is not valid UTF-8, or the size.
using Utf8Error = size_t (*)(const uint8_t* text, size_t size);

// Reads CRAYON_CPU as selected_cpu_level does: call it once per call of the engine, not for each text.
Utf8Error best_utf8_error();

#if CRAYON_X86_64
// Returns the number of bytes from the beginning that are surely valid: whole characters, and all but about the last 64
// bytes of valid text.
size_t avx2_utf8_prefix(const uint8_t* text, size_t size);
#endif

}  // namespace crayon
