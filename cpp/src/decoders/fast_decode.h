// Decoders of the usual kinds as one pass over tokens: what Decoder::decode makes of all their strings, without them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "crayon/support/bytes.h"
#include "decoders/text_block.h"

namespace crayon {

class TokenJoiner {
  public:
    virtual ~TokenJoiner() = default;
    // The next token. `readable` as for TextBlock::put.
    virtual void add(Bytes token, size_t readable, TextBlock* out) = 0;
    virtual void finish(TextBlock*) {}
    // How many bytes of the whole text's beginning are not part of it.
    virtual size_t cut(Bytes) const { return 0; }
};

std::unique_ptr<TokenJoiner> make_word_piece_joiner(const std::string& prefix, bool cleanup);
std::unique_ptr<TokenJoiner> make_metaspace_joiner(const std::string& replacement, bool drops_first);
// Replace `spaced` (unless empty) by a space, ByteFallback, Fuse, Strip `strips` times `stripped` from the beginning.
std::unique_ptr<TokenJoiner> make_fallback_joiner(const std::string& spaced, const std::string& stripped,
                                                  uint64_t strips);

}  // namespace crayon
