// The symbols of a vocabulary in training, with their strings and ids. Spells words in these symbols.
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
    // Begins with the special tokens and the alphabet that `options` and the words give.
    TrainingSymbols(const std::vector<CountedWord>& words, const BpeTrainerOptions& options, TrainingReport* report);

    // Begins with the tokens of an existing vocabulary, for extend_bpe.
    TrainingSymbols(std::vector<std::string> tokens, const std::vector<uint32_t>& reusable,
                    const BpeTrainerOptions& options);

    // Returns the words as sequences of symbols. Drops characters that the alphabet lacks.
    TrainingWords spell(const std::vector<CountedWord>& words, TrainingReport* report);
    // Whether a merge may make the product of `left` and `right`. An extension allows new and reusable products, up to
    // the options' length.
    bool may_join(uint32_t left, uint32_t right) const { return !is_extension_ || may_make(joined(left, right)); }
    // Records that this symbol of the existing vocabulary occurs in a word of several symbols.
    void is_met(uint32_t symbol) { reusable_[symbol] = false; }
    // Returns the symbol that a merge makes, and adds it if it is new.
    uint32_t join(uint32_t left, uint32_t right);

    size_t size() const { return strings_.size(); }
    std::vector<std::string> take_strings() { return std::move(strings_); }

  private:
    bool may_make(const std::string& product) const;
    std::string joined(uint32_t left, uint32_t right) const;
    uint32_t id_of(const std::string& string);
    void push_character(uint32_t c, bool is_first, bool is_last, TrainingWords* out);

    const BpeTrainerOptions& options_;
    const bool is_extension_ = false;
    std::vector<std::string> strings_;
    std::unordered_map<std::string, uint32_t> ids_;
    std::vector<bool> reusable_;          // by id, for tokens of the existing vocabulary
    std::vector<uint32_t> of_character_;  // ids of characters without affixes, by code point
    size_t characters_ = 0;               // in all words
};

}  // namespace crayon
