// The decoders of a tokenizer.json: from tokens' strings to text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crayon/json.h"

namespace crayon {

class TokenJoiner;

class Decoder {
  public:
    virtual ~Decoder();
    // The reference's decode_chain: replaces the strings by others, whose concatenation is the text.
    virtual void decode(std::vector<std::string>* tokens) const = 0;
    // The same in one pass (token_joiner.h), for one text. Null where there is none.
    virtual std::unique_ptr<TokenJoiner> joiner() const;
};

// From the component as tokenizer.json has it (not null). Errors as for make_normalizer.
std::unique_ptr<Decoder> make_decoder(const json::Value& component);

}  // namespace crayon
