// The vocabulary and the merges of a tokenizer.json as the tokenizers library writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crayon::json {

struct ModelText {
    std::string vocab;                  // JSON: an object, of a Unigram an array
    std::optional<std::string> merges;  // JSON: pairs
};

// Tokens stand in the order of their ids, merges as pairs. With `pretty` each begins on its own line, indented as
// members of the member "model" are. Nothing when only the library knows what it makes of them: tokens that share an
// id, names or merges that come twice, another shape. Error(vocabulary) for what is no JSON.
std::optional<ModelText> model_text(std::string_view tokenizer_json, bool pretty);

}  // namespace crayon::json
