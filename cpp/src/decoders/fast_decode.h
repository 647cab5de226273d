// Common decoders as one pass over tokens: the result of Decoder::decode without a string per token.
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
    // Adds the next token. `readable` as for TextBlock::put.
    virtual void add(Bytes token, size_t readable, TextBlock* out) = 0;
    // Returns the byte that a token names, or -1. Consecutive tokens that name bytes form a run, whose bytes are
    // decoded together.
    virtual int byte_of(Bytes) { return -1; }
    virtual void add_byte(uint8_t) {}
    // Ends a run of bytes, if one has begun. Callers also call finish() at the end of the text.
    virtual void finish(TextBlock*) {}
    // Changes the whole decoded text in place. Returns whether that may have added bytes, which the caller must check.
    virtual bool change(std::string*) const { return false; }
};

std::unique_ptr<TokenJoiner> make_word_piece_joiner(const std::string& prefix, bool cleanup);
std::unique_ptr<TokenJoiner> make_metaspace_joiner(const std::string& replacement, bool drops_first);

// The steps of a Sequence of decoders that contains Fuse: the steps before and after Fuse that have a fast path.
struct FallbackSteps {
    bool has_bytes = false;  // whether a ByteFallback comes before Fuse
    // One of `spaced` and `replaces` is empty.
    std::string spaced;                                         // a Replace puts a space in place of this
    std::vector<const Decoder*> replaces;                       // Steps for each token, which outlive the joiner.
    std::string stripped;                                       // Strip removes this from the beginning of the text
    uint64_t strips = 0;                                        // at most this many times
    std::vector<std::pair<std::string, std::string>> replaced;  // Replace of literals in the text
};
std::unique_ptr<TokenJoiner> make_fallback_joiner(const FallbackSteps& steps);

}  // namespace crayon
