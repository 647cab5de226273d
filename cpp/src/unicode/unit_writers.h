// Converts UTF-8 to the units of a str, which have 1, 2 or 4 bytes per character.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/support/bytes.h"
#include "support/target.h"

namespace crayon {

struct Utf8Shape {
    size_t characters = 0;
    uint8_t largest = 0;  // the largest byte, which tells the width of the widest character

    // The last character of that width.
    uint32_t last_character() const {
        return largest < 0x80 ? 0x7F : largest < 0xC4 ? 0xFF : largest < 0xF0 ? 0xFFFF : 0x10FFFF;
    }
};
Utf8Shape utf8_shape(Bytes text);

// Each writes the characters of valid UTF-8. `to` must have room for them, and units must be wide enough.
struct UnitWriters {
    void (*ucs1)(Bytes text, size_t characters, uint8_t* to);
    void (*ucs2)(Bytes text, size_t characters, uint16_t* to);
    void (*ucs4)(Bytes text, size_t characters, uint32_t* to);

    void write(Bytes text, size_t characters, uint8_t* to) const { ucs1(text, characters, to); }
    void write(Bytes text, size_t characters, uint16_t* to) const { ucs2(text, characters, to); }
    void write(Bytes text, size_t characters, uint32_t* to) const { ucs4(text, characters, to); }
};

// Returns null if no permitted instruction set is faster than CPython's decoder. Reads CRAYON_CPU as selected_cpu_level
// does.
const UnitWriters* best_unit_writers();

#if CRAYON_X86_64
extern const UnitWriters kAvx512UnitWriters;
#endif

}  // namespace crayon
