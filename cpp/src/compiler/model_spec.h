// The "model" of a tokenizer.json as plain, validated structures, for models on text; and the cartridge sections of
// such a model.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/json/json.h"

namespace crayon {

struct ModelSpec {
    struct Merge {
        uint32_t left, right, product;
    };
    std::string options;              // JSON: the model object without "vocab" and "merges", always with "type"
    std::vector<std::string> tokens;  // by id
    std::vector<uint8_t> present;     // by id: ids may have holes
    uint32_t model_size = 0;          // tokenizers' get_vocab_size(false)
    std::vector<Merge> merges;        // BPE, in rank order
    std::vector<double> scores;       // Unigram, by id
    std::vector<int32_t> score_ulps;  // json::Value::ulps_to_nearest of each
};

// Reads every model type, guessing a missing type or field as Hugging Face tokenizers ("the reference") does. Throws
// Error(vocabulary) if the reference refuses to load the model, and Error(unsupported) if this library does not
// implement the model.
ModelSpec read_model_spec(const json::Value& model);

// Adds the sections that make_model needs (trie over the model's tokens, merge tables, scores, ...). The compiler
// writes token_offsets and token_bytes, which also contain added tokens.
void add_model_sections(const ModelSpec& spec, CartridgeWriter* writer);

// Makes the checks of verify_cartridge for the sections of add_model_sections. A model over verified sections cannot
// read outside them or loop without end.
void verify_model_sections(const Cartridge& cartridge, Checks checks = Checks::whole);

}  // namespace crayon
