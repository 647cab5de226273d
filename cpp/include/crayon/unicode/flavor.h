// The regular-expression engine whose character classes a scanner follows.
#pragma once

#include <cstdint>

namespace crayon {

// The flavor decides the Unicode version and the character sets.
enum class Flavor : uint32_t {
    oniguruma = 0,   // Hugging Face tokenizers 0.23
    rust_regex = 1,  // tiktoken 0.14
};
constexpr uint32_t kFlavorCount = 2;

}  // namespace crayon
