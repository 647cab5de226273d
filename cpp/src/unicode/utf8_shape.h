// The number and the greatest width of the characters of UTF-8, which a Python str of this text needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crayon/support/bytes.h"

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

}  // namespace crayon
