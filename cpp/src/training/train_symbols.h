// The symbols of a vocabulary in training: their strings and ids, and the words spelled in them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "crayon/training/training.h"
#include "training/train_progress.h"
#include "training/train_words.h"

namespace crayon {

class TrainingSymbols {
  public:
    // Special tokens and the alphabet according to `options`.
    TrainingSymbols(const std::vector<CountedWord>& words, const BpeTrainerOptions& options, TrainingReport* report);

    // The words in symbols, without characters that the alphabet lacks.
    TrainingWords spell(const std::vector<CountedWord>& words, TrainingReport* report);
    // The symbol that a merge makes, which may exist already.
    uint32_t join(uint32_t left, uint32_t right);

    size_t size() const { return strings_.size(); }
    std::vector<std::string> take_strings() { return std::move(strings_); }

  private:
    uint32_t id_of(const std::string& string);
    void push_character(uint32_t c, bool is_first, bool is_last, TrainingWords* out);

    const BpeTrainerOptions& options_;
    std::vector<std::string> strings_;
    std::unordered_map<std::string, uint32_t> ids_;
    std::vector<uint32_t> of_character_;  // ids of the characters alone, up to the greatest
    size_t characters_ = 0;               // in all words
};

}  // namespace crayon
