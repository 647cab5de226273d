// The vocabulary and the merges of a tokenizer.json as the tokenizers library writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crayon::json {

struct ModelText {
    std::string vocab;                  // JSON: an object; for Unigram an array
    std::optional<std::string> merges;  // JSON: pairs
};

// Writes tokens in order of id, and merges as pairs. `pretty` gives each its own line, indented as inside the member
// "model". Returns nothing if the library's result depends on its internal order: for shared ids, repeated names or
// merges, or another structure. Throws Error(vocabulary) for text that is not JSON.
std::optional<ModelText> model_text(std::string_view tokenizer_json, bool pretty);

}  // namespace crayon::json
