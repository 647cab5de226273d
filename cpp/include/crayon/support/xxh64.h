// XXH64 (Y. Collet, the xxHash specification): the checksums of a cartridge.
#pragma once

#include <cstdint>

#include "crayon/support/bytes.h"

namespace crayon {

uint64_t xxh64(Bytes data, uint64_t seed = 0);

}  // namespace crayon
