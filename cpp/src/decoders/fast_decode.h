// Decoders of the usual kinds as one pass over tokens: what Decoder::decode makes of all their strings, without them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crayon/decoders/decoders.h"
#include "crayon/support/bytes.h"
#include "decoders/text_block.h"

namespace crayon {

class TokenJoiner {
  public:
    virtual ~TokenJoiner() = default;
    // The next token. `readable` as for TextBlock::put.
    virtual void add(Bytes token, size_t readable, TextBlock* out) = 0;
    // The byte that a token names, or -1. Bytes of a run are text together.
    virtual int byte_of(Bytes) { return -1; }
    virtual void add_byte(uint8_t) {}
    // A run of bytes ends here, if there is one. The text ends with the last call.
    virtual void finish(TextBlock*) {}
    // What happens to the whole text; true if it has bytes that no block has seen.
    virtual bool change(std::string*) const { return false; }
};

std::unique_ptr<TokenJoiner> make_word_piece_joiner(const std::string& prefix, bool cleanup);
std::unique_ptr<TokenJoiner> make_metaspace_joiner(const std::string& replacement, bool drops_first);

// Steps of a sequence: ByteFallback, Fuse, and what may stand around them.
struct FallbackSteps {
    std::string spaced;                    // Replace of this (unless empty) by a space
    std::vector<const Decoder*> replaces;  // or any steps for each token, which live as long as the joiner
    std::string stripped;                  // Strip from the beginning of the text
    uint64_t strips = 0;                   // so many times
    std::vector<std::pair<std::string, std::string>> replaced;  // Replace of literals in the text
};
std::unique_ptr<TokenJoiner> make_fallback_joiner(const FallbackSteps& steps);

}  // namespace crayon
