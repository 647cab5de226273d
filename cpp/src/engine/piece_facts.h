// The metadata of a cartridge about a SentencePiece model, for opening the model's own file: parts of the library that
// replace components.
#pragma once

#include <memory>

#include "crayon/cartridge/cartridge.h"
#include "crayon/models/models.h"
#include "crayon/normalizers/normalizers.h"

namespace crayon {

struct OwnParts {
    std::unique_ptr<Normalizer> normalizer;  // null: use that of the components
    std::unique_ptr<Model> model;            // null: use that of the components
    bool takes_whole_text = false;           // only the components' model needs the pre-tokenizer
};

// A component that differs from the cartridge's own is not replaced. Without `with_model`, makes no model.
// Error(cartridge) if the metadata violates docs/cartridge-format.md. Error(unsupported) if the components hold only a
// model's vocabulary and change the model's options.
OwnParts own_parts(const Cartridge& cartridge, const json::Value& components, bool with_model);

}  // namespace crayon
