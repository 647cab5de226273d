// What an engine does around its vocabulary: the components of a tokenizer.json, ready to run.
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
    std::unique_ptr<Normalizer> normalizer;  // null: none
    // One of two ways to cut a text. A hand-made scanner over bytes, with a space put in front or not:
    ScanFunction scan = nullptr;
    Family family = Family::whole;
    bool add_prefix_space = false;
    // Or, when there is no scanner, this; null leaves the text whole.
    std::unique_ptr<PreTokenizer> pre_tokenizer;
    bool joins_pieces = false;          // pieces that touch each other are cut as one: greedy mode
    std::unique_ptr<Model> model;       // null: byte-level tables, which are the cartridge's
    LongestMatch match;                 // over the tokens of the model
    bool matches = false;               // of byte-level tables: by `match`, not by merging
    std::unique_ptr<MatchSeams> seams;  // where that takes whole texts; null: there are none
    PostProcessor post_processor;
    std::unique_ptr<Decoder> decoder;  // null: tokens are joined by spaces, or bytes are
    bool joins_bytes = false;          // decoding is joining the tokens' bytes

    // What cuts a text into the words that Model::encode_words takes, or null.
    const PreTokenizer* words_to_mark() const {
        return model == nullptr || pre_tokenizer == nullptr || joins_pieces ? nullptr : pre_tokenizer->words_to_mark();
    }
};

// From a components section, or JSON that takes its place. Error(vocabulary) for what the reference refuses to load,
// Error(unsupported) for what is not native, or not with this cartridge's tables. `specials`, unless null, asks for
// greedy mode, in which no text becomes one of these ids.
Pipeline make_pipeline(std::string_view components, const Cartridge& cartridge, CpuLevel level,
                       const std::vector<uint32_t>* specials = nullptr);

// Whether a model is WordPiece that takes any text and spells all tokens alike: over a vocabulary that has every byte
// it is longest match, and nothing else.
bool is_longest_match(const json::Value& model);

// The ids that the metadata calls control tokens ("control": [1, 2]): no text becomes one of them in greedy mode, as
// none does in exact mode, though they are among the model's tokens. Error(cartridge) when it is no list of ids.
std::vector<uint32_t> control_ids(const Cartridge& cartridge);

// Whether byte-level tables serve these components: a ByteLevel comes last in the pre-tokenizer, and nowhere else.
bool can_work_on_bytes(const json::Value* normalizer, const json::Value* pre_tokenizer);

}  // namespace crayon
