// What a tokenizer.json says, checked and in plain structures: the compiler's input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/cartridge.h"
#include "crayon/post_process.h"
#include "crayon/pretokenize.h"

namespace crayon {

struct TokenizerSpec {
    struct Token {
        bool present = false;
        bool in_model = false;
        bool raw = false;  // `bytes` is the string itself, because it is no byte-level spelling
        std::string bytes;
        std::string text;  // the string as the vocabulary spells it
    };
    struct Merge {
        uint32_t left, right, product;
    };
    struct Added {
        uint32_t id, flags;  // AddedFlag
        std::string content;
    };

    std::vector<Token> tokens;  // indexed by id
    uint32_t model_size = 0, vocab_size = 0;
    std::vector<Merge> merges;  // in rank order
    bool ignore_merges = false;
    std::vector<Added> added;
    NormalizerKind normalizer = NormalizerKind::none;
    Family family = Family::whole;
    bool add_prefix_space = false;
    PostProcessor post_processor;
};

// Error(vocabulary) for what is malformed, Error(unsupported) for what is well-formed and not native; the message names
// the component. Where files leave a field out, the reference's default is taken.
TokenizerSpec read_tokenizer_json(std::string_view text, Flavor flavor);

}  // namespace crayon
