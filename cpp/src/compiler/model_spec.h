// What the "model" of a tokenizer.json says, checked and in plain structures, for models on text; and the cartridge
// sections that such a model has.
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
    std::string options;              // JSON: the model object without "vocab" and "merges", "type" always there
    std::vector<std::string> tokens;  // by id
    std::vector<uint8_t> present;     // by id: ids may have holes
    uint32_t model_size = 0;          // what the reference's get_vocab_size(false) says
    std::vector<Merge> merges;        // BPE, in rank order
    std::vector<double> scores;       // Unigram, by id
    std::vector<int32_t> score_ulps;  // json::Value::ulps_to_nearest of each
};

// Every model type, with the reference's guesses for files that leave the type or fields out. Error(vocabulary) for
// what the reference refuses to load, Error(unsupported) for what is not native.
ModelSpec read_model_spec(const json::Value& model);

// Adds the sections that make_model needs (trie over the model's tokens, merge tables, scores, ...) besides
// token_offsets and token_bytes, which the compiler writes: there, added tokens follow.
void add_model_sections(const ModelSpec& spec, CartridgeWriter* writer);

// The same as verify_cartridge, for these sections: after it, no use of the model can read outside them or loop.
void verify_model_sections(const Cartridge& cartridge, Checks checks = Checks::whole);

}  // namespace crayon
