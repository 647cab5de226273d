// Whether a cartridge says what the compiler makes of a tokenizer.json, found without compiling.
#pragma once

#include <string>
#include <string_view>

#include "crayon/cartridge/cartridge.h"

namespace crayon {

// One line that names the first difference; empty when there is none. Compared is what the compiler does not derive
// from anything else (docs/cartridge-format.md, section 7): with verify_cartridge, which makes all the rest again, no
// difference proves that the cartridge encodes as the tokenizer.json says. White space and the order of members do not
// count. The metadata is not compared, but the flavor must be that of the `reference` that it names.
// Errors for the tokenizer.json as those of compile_tokenizer_json; Error(cartridge) for one that was never verified
// and cannot be read.
std::string find_mismatch(const Cartridge& cartridge, std::string_view tokenizer_json);

}  // namespace crayon
