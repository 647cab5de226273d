// The decoders of a tokenizer.json: from tokens' strings to text.
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
    // The reference's decode_chain: replaces the strings by others, whose concatenation is the text. Error(vocabulary)
    // where they grow beyond all measure.
    void decode(std::vector<std::string>* tokens) const;
    // The same as a step of another; `before` is how many bytes the first step got.
    virtual void run(std::vector<std::string>* tokens, size_t before) const = 0;
    // The same in one pass (fast_decode.h), for one text. Null where there is none.
    virtual std::unique_ptr<TokenJoiner> joiner() const;
};

// From the component as tokenizer.json has it (not null). Errors as for make_normalizer.
std::unique_ptr<Decoder> make_decoder(const json::Value& component);

}  // namespace crayon
