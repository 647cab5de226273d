// Converts code points to UTF-8, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/target.h"

namespace crayon {

// How far a writer got. It writes whole vectors until fewer than 80 units remain, and stops earlier at a vector with a
// code point that UTF-8 cannot encode. It writes no byte after the UTF-8 of the whole text.
struct Utf8Progress {
    size_t read;     // in units
    size_t written;  // in bytes
};
struct Utf8Writers {  // null: use a loop over the units
    Utf8Progress (*latin1)(const uint8_t* units, size_t n, uint8_t* to);
    Utf8Progress (*ucs2)(const uint16_t* units, size_t n, uint8_t* to);
    Utf8Progress (*ucs4)(const uint32_t* units, size_t n, uint8_t* to);
};

// The writers of the best permitted instruction set, according to selected_cpu_level.
const Utf8Writers& best_utf8_writers();

extern const Utf8Writers kNoUtf8Writers;
#if CRAYON_X86_64
extern const Utf8Writers kAvx2Utf8Writers, kAvx512Utf8Writers;
#endif
#if CRAYON_AARCH64
extern const Utf8Writers kNeonUtf8Writers;
#endif

}  // namespace crayon
