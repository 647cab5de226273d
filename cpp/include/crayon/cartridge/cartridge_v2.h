// CRAYON's cartridges, version 2: "CRAY", uint32 version, uint32 N, then the arrays base, check and values, each N
// int32. All are little-endian, and nothing follows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "crayon/cartridge/double_array.h"
#include "crayon/support/bytes.h"

namespace crayon {

// Throws Error(cartridge) if the magic, the version or the size is wrong, or if verify_double_array refuses the arrays.
DoubleArray read_cartridge_v2(Bytes file);

// The inverse of read_cartridge_v2, bit for bit.
std::string write_cartridge_v2(const DoubleArray& trie);

// Every (key, value) of a trie, sorted by the bytes of the keys.
std::vector<std::pair<std::string, int32_t>> list_double_array(const DoubleArrayView& trie);

}  // namespace crayon
