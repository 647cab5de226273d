// A tokenizer.json as plain, validated structures: the compiler's input.
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
    // For byte-level tables.
    struct Token {
        bool present = false;
        bool in_model = false;
        bool raw = false;  // `bytes` is the string itself, because it is not a byte-level spelling
        std::string bytes;
        std::string text;  // the string as the vocabulary spells it
    };

    std::vector<Token> tokens;  // indexed by id
    uint32_t model_size = 0, vocab_size = 0;
    std::vector<ModelSpec::Merge> merges;  // in rank order; for byte-level tables
    bool ignore_merges = false;
    bool longest_match = false;           // for byte-level tables: instead of merges
    std::optional<ModelSpec> text_model;  // if the model works on text
    std::vector<AddedTokenSpec> added;
    std::unique_ptr<Normalizer> normalizer;  // may be null
    std::string components;                  // the components section
    bool reads_alike = false;                // see Cartridge::reads_alike
    bool has_model_type = false;             // older files omit it
};

// Throws Error(vocabulary) for a malformed file, and Error(unsupported) for a well-formed file with a component that
// this library does not implement; the message names the component. Missing fields get the reference's defaults.
// guesses[rank] is the pair (pair_key) that a byte-level merge of this rank probably joins. A right guess saves two
// searches, a wrong one changes nothing.
TokenizerSpec read_tokenizer_json(std::string_view text, const std::vector<uint64_t>& guesses = {});

}  // namespace crayon
