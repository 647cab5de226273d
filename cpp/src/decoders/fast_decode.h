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
    // The byte that a token names, or -1. Tokens of a run of bytes spell characters together.
    virtual int byte_of(Bytes) { return -1; }
    virtual void add_byte(uint8_t) {}
    // Ends a run of bytes, if there is one; called at the end of the text as well.
    virtual void finish(TextBlock*) {}
    // What happens to the whole text; true if it has bytes that no block has seen.
    virtual bool change(std::string*) const { return false; }
};

std::unique_ptr<TokenJoiner> make_word_piece_joiner(const std::string& prefix, bool cleanup);
std::unique_ptr<TokenJoiner> make_metaspace_joiner(const std::string& replacement, bool drops_first);

// Steps of a sequence: Fuse, and what may stand around it.
struct FallbackSteps {
    bool has_bytes = false;  // a ByteFallback before it
    // Of `spaced` and `replaces` one is empty.
    std::string spaced;                                         // Replace of this by a space
    std::vector<const Decoder*> replaces;                       // any steps for each token, which outlive the joiner
    std::string stripped;                                       // Strip from the beginning of the text
    uint64_t strips = 0;                                        // so many times
    std::vector<std::pair<std::string, std::string>> replaced;  // Replace of literals in the text
};
std::unique_ptr<TokenJoiner> make_fallback_joiner(const FallbackSteps& steps);

}  // namespace crayon
