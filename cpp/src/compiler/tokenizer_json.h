// What a tokenizer.json says, checked and in plain structures: the compiler's input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/model_spec.h"
#include "crayon/cartridge/cartridge.h"
#include "crayon/normalizers/normalizers.h"

namespace crayon {

struct TokenizerSpec {
    // Of byte-level tables.
    struct Token {
        bool present = false;
        bool in_model = false;
        bool raw = false;  // `bytes` is the string itself, because it is no byte-level spelling
        std::string bytes;
        std::string text;  // the string as the vocabulary spells it
    };

    std::vector<Token> tokens;  // indexed by id
    uint32_t model_size = 0, vocab_size = 0;
    std::vector<ModelSpec::Merge> merges;  // in rank order; of byte-level tables
    bool ignore_merges = false;
    bool longest_match = false;           // of byte-level tables: in place of merges
    std::optional<ModelSpec> text_model;  // there when the model works on text
    std::vector<AddedTokenSpec> added;
    std::unique_ptr<Normalizer> normalizer;  // null: none
    std::string components;                  // the components section
    bool reads_alike = false;                // see Cartridge::reads_alike
    bool has_model_type = false;             // older files leave it out
};

// Error(vocabulary) for what is malformed, Error(unsupported) for what is well-formed and not native; the message names
// the component. Where files leave a field out, the reference's default is taken.
// `guesses` are likely pairs of byte-level merges, by rank (pair_key). A right one saves two searches, a wrong one
// changes nothing.
TokenizerSpec read_tokenizer_json(std::string_view text, const std::vector<uint64_t>& guesses = {});

}  // namespace crayon
