// Compiles a tokenizer.json to a version 3 cartridge.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "crayon/scan/pattern_families.h"

namespace crayon {

struct CompileOptions {
    std::string metadata = "{}";  // JSON object, stored unchanged
    Flavor flavor = Flavor::oniguruma;
    std::array<uint8_t, 32> source_digest{};  // SHA-256 of the tokenizer.json
};

// Returns the bytes of the cartridge, which depend on the arguments alone. Throws Error(vocabulary) for a malformed
// source, and Error(unsupported) for a component that this library does not implement.
std::string compile_tokenizer_json(std::string_view tokenizer_json, const CompileOptions& options);

}  // namespace crayon
