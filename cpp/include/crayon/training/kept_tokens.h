// Which tokens a smaller BPE vocabulary has.
//
// In any text, the characters that end up as token t merge among themselves exactly as if they were alone, since no
// merge crosses t's borders. So the merges that make t are always the same, those of t's own characters. A vocabulary
// that keeps these products for each of its tokens, and the merges among what it keeps, encodes a text as before if
// that had none of the tokens that are lost: of the pairs that can merge, the first by rank is still there each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crayon/engine/engine.h"

namespace crayon {

struct KeptTokensOptions {
    std::vector<uint32_t> required;  // ids; more than `most` of them are kept as well
    std::vector<uint64_t> uses;      // by id; empty: nothing is known
    std::optional<size_t> most;      // tokens, with those that the merges of others need
    std::string continuing_subword_prefix, end_of_word_suffix;
};

// By id, 1 for a token that is kept. Without `most` that is each token that is used. With it the most used come first,
// then those without a merge that are a symbol of their own, then by the rank of the last merge of their own
// characters, then what no merge makes; of equals the lower id. One that does not fit with its parts is passed over.
// `engine` is an exact one. Error(unsupported) for a model without merges, and a token of more than 4096 characters.
std::vector<uint8_t> kept_tokens(const Engine& engine, const KeptTokensOptions& options);

}  // namespace crayon
