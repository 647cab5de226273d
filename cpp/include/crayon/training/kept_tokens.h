// Chooses the tokens of a smaller BPE vocabulary.
//
// In any text, the characters that become token t merge exactly as if they were alone, since no merge crosses the
// borders of t. So the same merges make t in every text: the merges of its own characters. The smaller vocabulary keeps
// the products of these merges for each token that it keeps. A text that used no lost token is then encoded as before:
// at each step, the old vocabulary's pair of the lowest rank is still a merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crayon/engine/engine.h"

namespace crayon {

struct KeptTokensOptions {
    std::vector<uint32_t> required;  // ids to keep, even if they are more than `most`
    std::vector<uint64_t> uses;      // the number of uses by id, or empty
    std::optional<size_t> most;      // the number of tokens to keep, including parts of other tokens
    std::string continuing_subword_prefix, end_of_word_suffix;
};

// Returns by id 1 for each token to keep, else 0. Without `most` each token that is used is kept.
//
// With `most`, the most used tokens come first. Of equally used tokens, single symbols come first, then tokens of
// merges by the rank of their last merge, then tokens that no merge makes; then the lower id decides. A token that does
// not fit together with its parts is skipped.
//
// `engine` must be exact. Throws Error(unsupported) for a model without merges, or a token of more than 4096
// characters.
std::vector<uint8_t> kept_tokens(const Engine& engine, const KeptTokensOptions& options);

}  // namespace crayon
