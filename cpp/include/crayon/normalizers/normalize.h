// What normalization leaves as it is.
#pragma once

#include <cstdint>

namespace crayon {

// Whether NFC changes neither the character nor its place, among any others that are stable, too.
bool is_stable_in_nfc(uint32_t code_point);

}  // namespace crayon
