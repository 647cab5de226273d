// Code points to UTF-8, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/target.h"

namespace crayon {

// What a writer does of a text's code points, from the first on: as far as it gets by whole vectors, which leaves fewer
// than 80, or else the vector with one that UTF-8 does not have. No byte is touched behind the UTF-8 of the whole text.
struct Utf8Progress {
    size_t read;     // units
    size_t written;  // bytes
};
struct Utf8Writers {  // null where a loop over the units is all there is
    Utf8Progress (*latin1)(const uint8_t* units, size_t n, uint8_t* to);
    Utf8Progress (*ucs2)(const uint16_t* units, size_t n, uint8_t* to);
    Utf8Progress (*ucs4)(const uint32_t* units, size_t n, uint8_t* to);
};

// Those of the best instruction set that may be used, by what selected_cpu_level says now.
const Utf8Writers& best_utf8_writers();

extern const Utf8Writers kNoUtf8Writers;
#if CRAYON_X86_64
extern const Utf8Writers kAvx2Utf8Writers, kAvx512Utf8Writers;
#endif
#if CRAYON_AARCH64
extern const Utf8Writers kNeonUtf8Writers;
#endif

}  // namespace crayon
