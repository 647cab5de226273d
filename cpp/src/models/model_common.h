// What the models on text share: their options, and a maker for each type.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crayon/cartridge/cartridge.h"
#include "crayon/json/json.h"
#include "crayon/models/models.h"
#include "unicode/utf8_chars.h"

namespace crayon {

constexpr uint32_t kNoId = 0xFFFFFFFFu;

enum class ModelType { bpe, word_piece, word_level, unigram };

struct ModelOptions {
    ModelType type = ModelType::bpe;
    std::optional<std::string> unk_token;
    std::optional<std::string> continuing_subword_prefix;
    std::optional<std::string> end_of_word_suffix;
    std::optional<float> dropout;
    bool fuse_unk = false;
    bool byte_fallback = false;
    bool ignore_merges = false;
    uint64_t max_input_chars_per_word = 0;
    std::optional<uint32_t> unk_id;

    // Merges are skipped at random; at 0 the reference takes its ordinary way.
    bool is_random() const { return dropout && *dropout > 0; }
    // Unknown characters side by side are one token.
    bool fuses_unknown() const { return fuse_unk || type == ModelType::unigram; }
    // Tokens say whether they begin or end a piece.
    bool has_affixes() const {
        return !continuing_subword_prefix.value_or("").empty() || !end_of_word_suffix.value_or("").empty();
    }
};

// The options of a model of the type that it names, or of `type` where the file names none. Error(vocabulary) for what
// the reference refuses to load.
ModelOptions read_model_options(const json::Value& model, ModelType type);
// The type that the model names; nothing when it names none.
std::optional<ModelType> read_model_type(const json::Value& model);
// The options of a model that must name its type.
ModelOptions read_typed_options(const json::Value& model);
// The options as a JSON object, each field there and in the reference's order.
std::string write_model_options(const ModelOptions& options);

// The token of byte b in a model with byte_fallback.
std::string byte_token(uint8_t b);

// The id of a token of the model, kNoId when there is none. The trie holds all but the empty one.
uint32_t find_model_token(const Cartridge& cartridge, std::string_view token);

// Where the trie's keys that begin with `prefix` branch off, -1 when there are none.
int32_t walk(const DoubleArrayView& trie, std::string_view prefix);

// Of a piece whose offsets fit those of tokens: Error(argument) otherwise.
uint32_t checked_size(Bytes piece);

std::unique_ptr<Model> make_bpe(const ModelOptions& options, const Cartridge& cartridge, CpuLevel level);
std::unique_ptr<Model> make_word_piece(const ModelOptions& options, const Cartridge& cartridge);
std::unique_ptr<Model> make_word_level(const ModelOptions& options, const Cartridge& cartridge);
std::unique_ptr<Model> make_unigram(const ModelOptions& options, const Cartridge& cartridge);

// Which of SentencePiece's models a cartridge of its file asks for, and what a tokenizer.json does not say of pieces.
enum class PieceModel { unigram, bpe, character, word };

struct PieceFacts {
    PieceModel model = PieceModel::unigram;
    double raised = 0;          // of Unigram: what its scores were raised by for each character
    std::vector<float> scores;  // by id; of Unigram, where those of the cartridge do not give them back: else none
    std::vector<uint32_t> never, unused, user_defined;  // ids that no text becomes, that are taken apart, always found
};

// SentencePiece's own Unigram: sums of single precision.
std::unique_ptr<Model> make_single_precision_unigram(const ModelOptions& options, const Cartridge& cartridge,
                                                     const PieceFacts& facts);
// Its other models, as they are.
std::unique_ptr<Model> make_pieces(const ModelOptions& options, const Cartridge& cartridge, const PieceFacts& facts);

}  // namespace crayon
