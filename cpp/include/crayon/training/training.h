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

// A pretoken, and how often it occurs. If `is_raw`, its bytes represent characters of the byte-level alphabet; else it
// is UTF-8.
struct CountedWord {
    Bytes text;
    uint64_t count;
    bool is_raw;
};

// A callback to which long calls report their stage and progress, a few times a second, in the calling thread. If it
// throws, the call ends with its exception.
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

// Returns the merges and ids that the reference's trainer finds for these words, with 64-bit pair counts. Where the
// reference depends on the order of a hash map, the order of the words' bytes decides here. docs/training.md gives the
// memory. Throws Error(argument) if words exceed 4 G characters in all, or options contradict each other.
TrainedBpe train_bpe(const std::vector<CountedWord>& words, const BpeTrainerOptions& options, const Progress& progress);

// Trains an existing vocabulary further by the steps of train_bpe. Each word begins as the ids that `engine` gives it,
// so all merges of the existing vocabulary have been applied. `tokens` has the string of each old id, added tokens
// included; it is empty for an unused id. New tokens get the ids after these.
//
// A pair whose product is an old token is merged only if the product is in `reusable` and has not yet been a symbol of
// a word of several symbols. `reusable` has the tokens that are not a part of any old merge. With this rule an engine
// with the old and the new merges encodes each word as its symbols after the last step. A pair with an id of `apart`
// (unknown and byte tokens) is never merged. Products have fewer than max_token_length characters.
//
// Uses these options: vocab_size (old and new tokens), min_frequency, max_token_length and continuing_subword_prefix.
// Returns all tokens, and the new merges. Throws the errors of train_bpe, and Error(vocabulary) if the engine cannot
// encode a word.
TrainedBpe extend_bpe(const Engine& engine, const std::vector<CountedWord>& words, std::vector<std::string> tokens,
                      const std::vector<uint32_t>& reusable, const std::vector<uint32_t>& apart,
                      const BpeTrainerOptions& options, const Progress& progress);

// Counts how often each of the engine's ids occurs in the words, by id.
std::vector<uint64_t> token_uses(const Engine& engine, const std::vector<CountedWord>& words, const Progress& progress);

// The characters of the words with their counts, in the order of code points. Raw words give characters of the
// byte-level alphabet.
std::vector<std::pair<std::string, uint64_t>> word_characters(const std::vector<CountedWord>& words);

}  // namespace crayon
