// SentencePiece's own normalizer, from the left to the right of a text. A tokenizer.json has no component that does the
// same; a cartridge of a .model asks for it in its metadata.
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
    std::string charsmap;                        // the rules; empty: none
    std::vector<std::string_view> user_defined;  // pieces that no rule changes
};

// Error(vocabulary) when the rules are damaged.
std::unique_ptr<Normalizer> make_piece_normalizer(const PieceNormalizerOptions& options);

}  // namespace crayon
