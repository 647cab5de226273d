#include "unicode/utf8_shape.h"

#include <algorithm>

namespace crayon {

Utf8Shape utf8_shape(Bytes text) {
    Utf8Shape shape;
    const uint8_t* const end = text.data + text.size;
    for (const uint8_t* p = text.data; p < end;) {
        // Few enough that a vector's bytes can count them.
        const uint8_t* const stop = p + std::min<size_t>(255, size_t(end - p));
        uint8_t n = 0, largest = 0;
        for (; p < stop; ++p) {
            n = uint8_t(n + (int8_t(*p) >= -0x40));  // not inside a character
            largest = std::max(largest, *p);
        }
        shape.characters += n;
        shape.largest = std::max(shape.largest, largest);
    }
    return shape;
}

}  // namespace crayon
