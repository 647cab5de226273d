// Whose character classes, hence whose Unicode version, a scanner follows.
#pragma once

#include <cstdint>

namespace crayon {

// Which regular-expression engine, hence which Unicode version and character sets, defines the classes.
enum class Flavor : uint32_t {
    oniguruma = 0,   // Hugging Face tokenizers 0.23
    rust_regex = 1,  // tiktoken 0.14
};
constexpr uint32_t kFlavorCount = 2;

}  // namespace crayon
