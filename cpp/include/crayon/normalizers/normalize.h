// A property of normalization form C.
#pragma once

#include <cstdint>

namespace crayon {

// Whether NFC keeps the character and its position, among other characters with this property.
bool is_stable_in_nfc(uint32_t code_point);

}  // namespace crayon
