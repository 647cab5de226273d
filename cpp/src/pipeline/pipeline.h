// The components of a tokenizer.json, ready to run: all that an engine does around its vocabulary.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/decoders/decoders.h"
#include "crayon/models/longest_match.h"
#include "crayon/models/models.h"
#include "crayon/normalizers/normalizers.h"
#include "crayon/post/post_process.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/scan/pattern_families.h"
#include "models/match_seams.h"

namespace crayon {

struct Pipeline {
    std::unique_ptr<Normalizer> normalizer;  // may be null
    // One of two ways to cut a text: a specialized scanner over bytes, with an optional space in front,
    ScanFunction scan = nullptr;
    Family family = Family::whole;
    Flavor flavor = Flavor();  // of the scanner's Unicode tables
    bool add_prefix_space = false;
    // or, if `scan` is null, this pre-tokenizer. If both are null, a text is not cut.
    std::unique_ptr<PreTokenizer> pre_tokenizer;
    bool joins_pieces = false;          // joins touching pieces before the model: greedy mode
    std::unique_ptr<Model> model;       // null: the cartridge's byte-level tables
    LongestMatch match;                 // over the tokens of the model
    bool matches = false;               // byte-level tables: use `match`, not merging
    std::unique_ptr<MatchSeams> seams;  // for longest match over whole texts; null without seams
    PostProcessor post_processor;
    std::unique_ptr<Decoder> decoder;  // null: joins tokens by spaces, or joins bytes
    bool joins_bytes = false;          // decoding joins the tokens' bytes

    // The step that cuts a text into words for Model::encode_words, or null.
    const PreTokenizer* words_to_mark() const {
        return model == nullptr || pre_tokenizer == nullptr || joins_pieces ? nullptr : pre_tokenizer->words_to_mark();
    }
};

// Makes a pipeline from a components section, or from other JSON that replaces the section. Throws Error(vocabulary) if
// the reference refuses to load the JSON. Throws Error(unsupported) if this library does not implement a component, or
// not with this cartridge's tables. A non-null `specials` selects greedy mode, in which text never becomes one of these
// ids.
Pipeline make_pipeline(std::string_view components, const Cartridge& cartridge, const Kernels& kernels,
                       const std::vector<uint32_t>* specials = nullptr);

// Whether a model is WordPiece that accepts any text and spells all tokens alike. Over a vocabulary with a token for
// every byte, such a WordPiece is exactly longest match.
bool is_longest_match(const json::Value& model);

// Returns the ids of control tokens that the metadata lists ("control": [1, 2]). Control tokens are tokens of the
// model, but text never becomes one, neither in exact nor in greedy mode. Throws Error(cartridge) if "control" is not a
// list of ids.
std::vector<uint32_t> control_ids(const Cartridge& cartridge);

// Whether byte-level tables can serve these components: a ByteLevel is last in the pre-tokenizer, and nowhere else.
bool can_work_on_bytes(const json::Value* normalizer, const json::Value* pre_tokenizer);

}  // namespace crayon
