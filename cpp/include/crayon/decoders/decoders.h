// The decoders of a tokenizer.json: from the strings of tokens to text.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "crayon/json/json.h"

namespace crayon {

class TokenJoiner;

class Decoder {
  public:
    virtual ~Decoder();
    // Does what decode_chain of Hugging Face tokenizers does: replaces the tokens' strings by strings whose
    // concatenation is the text. Throws Error(vocabulary) if the strings grow too large.
    void decode(std::vector<std::string>* tokens) const;
    // Runs this decoder as a step of a Sequence. `before` is the number of bytes that the Sequence's first step
    // received.
    virtual void run(std::vector<std::string>* tokens, size_t before) const = 0;
    // Makes a joiner, which decodes a text in one pass over its tokens (fast_decode.h). Returns null if this decoder
    // has none.
    virtual std::unique_ptr<TokenJoiner> joiner() const;
};

// Makes a decoder from its JSON in a tokenizer.json (not null). Throws the errors of make_normalizer.
std::unique_ptr<Decoder> make_decoder(const json::Value& component);

}  // namespace crayon
