// Training a BPE vocabulary: words are counted first, merges are found among the unique ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crayon/support/bytes.h"

namespace crayon {

// A pretoken and how often it occurs. The bytes of one that `is_raw` stand for their characters in the byte-level
// alphabet; others are UTF-8.
struct CountedWord {
    Bytes text;
    uint64_t count;
    bool is_raw;
};

// Called by long work, in the thread that asked for it, some times in a second: the stage and how much of it is done.
// What it throws ends the work.
using Progress = std::function<void(const char* stage, uint64_t done, uint64_t total)>;

// The options of the BpeTrainer of Hugging Face tokenizers, with its defaults.
struct BpeTrainerOptions {
    size_t vocab_size = 30000;
    uint64_t min_frequency = 0;
    std::vector<std::string> special_tokens;  // they take the first ids, in this order
    std::vector<uint32_t> initial_alphabet;   // code points that the alphabet has in any case
    std::optional<size_t> limit_alphabet;     // the most frequent characters alone; of equals, the higher code points
    std::string continuing_subword_prefix;
    std::string end_of_word_suffix;
    std::optional<size_t> max_token_length;
};

struct TrainedBpe {
    std::vector<std::string> tokens;                    // UTF-8, by id
    std::vector<std::pair<uint32_t, uint32_t>> merges;  // by rank
};

// The merges and ids that the reference's trainer finds for these words, with pair counts of 64 bits. Where those
// depend on the order of a hash map there, on that of the words' bytes here.
// Memory: see docs/training.md. Error(argument) for words of 4 G characters in all, or options that contradict.
TrainedBpe train_bpe(const std::vector<CountedWord>& words, const BpeTrainerOptions& options, const Progress& progress);

}  // namespace crayon
