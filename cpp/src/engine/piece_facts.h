// What the metadata of a cartridge says of a SentencePiece model, where its own file is opened: parts of the library
// that take the place of components.
#pragma once

#include <memory>

#include "crayon/cartridge/cartridge.h"
#include "crayon/models/models.h"
#include "crayon/normalizers/normalizers.h"

namespace crayon {

struct OwnParts {
    std::unique_ptr<Normalizer> normalizer;  // null: that of the components
    std::unique_ptr<Model> model;            // null: likewise
    bool takes_whole_text = false;           // the pre-tokenizer is for the model of the components
};

// A component that is not the one which the cartridge was compiled with stays. Without `with_model` no model is made.
// Error(cartridge) when the metadata is not as docs/cartridge-format.md has it, Error(unsupported) for other options of
// a model of which the components hold the vocabulary alone.
OwnParts own_parts(const Cartridge& cartridge, const json::Value& components, bool with_model);

}  // namespace crayon
