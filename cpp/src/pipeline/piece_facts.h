// Parts of an engine that encode as the SentencePiece library does, for a model opened from the library's own file.
// They replace components; the cartridge's metadata describes them.
#pragma once

#include <memory>

#include "crayon/cartridge/cartridge.h"
#include "crayon/models/models.h"
#include "crayon/normalizers/normalizers.h"

namespace crayon {

struct OwnParts {
    std::unique_ptr<Normalizer> normalizer;  // null: use that of the components
    std::unique_ptr<Model> model;            // null: use that of the components
    bool takes_whole_text = false;           // whether to omit the pre-tokenizer, which only the components' model
                                             // needs
};

// Replaces only components that equal the cartridge's own. Without `with_model`, makes no model. Throws
// Error(cartridge) if the metadata violates docs/cartridge-format.md. Throws Error(unsupported) if the components hold
// only a model's vocabulary and change the model's options.
OwnParts own_parts(const Cartridge& cartridge, const json::Value& components, bool with_model);

}  // namespace crayon
