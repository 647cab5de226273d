// SentencePiece's own normalizer, which works from left to right. No component of a tokenizer.json does the same. The
// metadata of a cartridge that was made from a SentencePiece .model requests this normalizer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/normalizers/normalizers.h"

namespace crayon {

struct PieceNormalizerOptions {
    bool add_dummy_prefix = true;
    bool remove_extra_whitespaces = true;
    bool escape_whitespaces = true;
    bool treat_whitespace_as_suffix = false;
    std::string charsmap;                        // the rules; may be empty
    std::vector<std::string_view> user_defined;  // pieces that no rule changes
};

// Throws Error(vocabulary) if the rules are damaged.
std::unique_ptr<Normalizer> make_piece_normalizer(const PieceNormalizerOptions& options);

}  // namespace crayon
