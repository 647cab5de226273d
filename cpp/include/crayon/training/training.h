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

}  // namespace crayon
