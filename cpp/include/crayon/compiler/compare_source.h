// Compares a cartridge with a tokenizer.json, without compiling it.
#pragma once

#include <string>
#include <string_view>

#include "crayon/cartridge/cartridge.h"

namespace crayon {

// Returns one line that names the first difference, or "" if it finds none. Compares the tables that the compiler takes
// from the source directly (docs/cartridge-format.md, section 7). verify_cartridge checks all other tables against
// these. If both functions find no fault, the cartridge encodes as the tokenizer.json says.
//
// White space and the order of members do not count. Metadata is not compared, but the flavor must be that of the
// metadata's `reference`. Errors for the tokenizer.json are those of compile_tokenizer_json. Throws Error(cartridge) if
// the cartridge was not verified and cannot be read.
std::string find_mismatch(const Cartridge& cartridge, std::string_view tokenizer_json);

}  // namespace crayon
