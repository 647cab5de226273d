// Trains a BPE vocabulary: counts words first, then finds merges among the unique words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crayon/support/bytes.h"

namespace crayon {

class Engine;

// A pretoken and its count. If `is_raw`, its bytes represent characters of the byte-level alphabet; else it is UTF-8.
struct CountedWord {
    Bytes text;
    uint64_t count;
    bool is_raw;
};

// Long calls report their stage and progress to it, a few times a second, in the calling thread. An exception from it
// ends the call.
using Progress = std::function<void(const char* stage, uint64_t done, uint64_t total)>;

// The options of the BpeTrainer of Hugging Face tokenizers, with its defaults.
struct BpeTrainerOptions {
    size_t vocab_size = 30000;
    uint64_t min_frequency = 0;
    std::vector<std::string> special_tokens;  // get the first ids, in this order
    std::vector<uint32_t> initial_alphabet;   // code points to include in any case
    std::optional<size_t> limit_alphabet;  // keeps only the most frequent characters; among equals, higher code points
    std::string continuing_subword_prefix;
    std::string end_of_word_suffix;
    std::optional<size_t> max_token_length;
};

struct TrainedBpe {
    std::vector<std::string> tokens;                    // UTF-8, by id
    std::vector<std::pair<uint32_t, uint32_t>> merges;  // by rank
};

// The merges and ids that the reference's trainer finds for these words, with 64-bit pair counts. Where the reference
// depends on the order of a hash map, the order of the words' bytes decides here. docs/training.md gives the memory.
// Error(argument) if words exceed 4 G characters in all, or options contradict.
TrainedBpe train_bpe(const std::vector<CountedWord>& words, const BpeTrainerOptions& options, const Progress& progress);

// Trains an existing vocabulary further: the steps of train_bpe, begun with the ids that `engine` gives each word. All
// old merges are then done. `tokens` has the vocabulary's string for each id, added tokens included, empty for an unused
// id; new tokens follow.
//
// A pair whose product is an old token is merged only if the product is in `reusable` and has not yet been in a word of
// several symbols. `reusable` are tokens that no old merge has as a part. So the engine of all merges gives each word
// the ids of the last step. A pair with an id of `apart` (unknown and byte tokens) is never merged. Products have fewer
// than max_token_length characters.
//
// Uses these options: vocab_size (old and new tokens), min_frequency, max_token_length and continuing_subword_prefix.
// Returns all tokens, and the new merges. Errors as train_bpe; Error(vocabulary) if the engine cannot encode a word.
TrainedBpe extend_bpe(const Engine& engine, const std::vector<CountedWord>& words, std::vector<std::string> tokens,
                      const std::vector<uint32_t>& reusable, const std::vector<uint32_t>& apart,
                      const BpeTrainerOptions& options, const Progress& progress);

// The number of times that each of the engine's ids occurs in the words.
std::vector<uint64_t> token_uses(const Engine& engine, const std::vector<CountedWord>& words, const Progress& progress);

// The characters of the words with their counts, in the order of code points. Raw words give characters of the
// byte-level alphabet.
std::vector<std::pair<std::string, uint64_t>> word_characters(const std::vector<CountedWord>& words);

}  // namespace crayon
