// Shared by the models on text: their options, and a factory for each type.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

    // Whether merges are skipped at random; a `dropout` of 0 skips none.
    bool is_random() const { return dropout && *dropout > 0; }
    // Whether adjacent unknown characters are one token.
    bool fuses_unknown() const { return fuse_unk || type == ModelType::unigram; }
    // Whether tokens mark the beginning or end of a piece.
    bool has_affixes() const {
        return !continuing_subword_prefix.value_or("").empty() || !end_of_word_suffix.value_or("").empty();
    }
};

// Working memory of a search for the best path.
template <typename Step>
struct PathScratch : ModelScratch {
    std::vector<Step> steps;
    std::vector<uint32_t> ends;  // of the path's tokens, the last first

    void trim() override {
        constexpr size_t kKeep = size_t(1) << 16;
        ModelScratch::trim();
        if (steps.capacity() > kKeep) std::vector<Step>().swap(steps);
        if (ends.capacity() > kKeep) std::vector<uint32_t>().swap(ends);
    }
    size_t bytes() const override {
        return ModelScratch::bytes() + steps.capacity() * sizeof(Step) + ends.capacity() * sizeof(uint32_t);
    }
};

// Reads the options of a model. If the model names no type, its type is `type`. Throws Error(vocabulary) if the
// reference refuses to load the model.
ModelOptions read_model_options(const json::Value& model, ModelType type);
// Returns the type that the model names, if any.
std::optional<ModelType> read_model_type(const json::Value& model);
// Reads the options of a model that must name its type.
ModelOptions read_typed_options(const json::Value& model);
// The options as a JSON object, with every field, in the order of Hugging Face tokenizers.
std::string write_model_options(const ModelOptions& options);

// The token of byte b in a model with byte_fallback.
std::string byte_token(uint8_t b);

// Returns the id of a token of the model, or kNoId if it is unknown. The trie has all tokens but the empty one.
uint32_t find_model_token(const Cartridge& cartridge, std::string_view token);

// Returns the node of the keys that begin with `prefix`, or -1 if none do.
int32_t walk(const DoubleArrayView& trie, std::string_view prefix);

// Returns the size of a piece. Throws Error(argument) if the piece's offsets would not fit those of tokens.
uint32_t checked_size(Bytes piece);

std::unique_ptr<Model> make_bpe(const ModelOptions& options, const Cartridge& cartridge, const Kernels& kernels);
std::unique_ptr<Model> make_word_piece(const ModelOptions& options, const Cartridge& cartridge);
std::unique_ptr<Model> make_word_level(const ModelOptions& options, const Cartridge& cartridge);
std::unique_ptr<Model> make_unigram(const ModelOptions& options, const Cartridge& cartridge);

// The kind of SentencePiece model that the metadata of a cartridge names, and facts of its pieces that a tokenizer.json
// lacks.
enum class PieceModel { unigram, bpe, character, word };

struct PieceFacts {
    PieceModel model = PieceModel::unigram;
    double raised = 0;          // For Unigram: the number that was added to scores for each character.
    std::vector<float> scores;  // By id, for Unigram, if the cartridge's scores do not determine them; else empty.
    // In order: ids that text never becomes, ids that are split again, ids that are always found.
    std::vector<uint32_t> never, unused, user_defined;
};

// SentencePiece's own Unigram, with single-precision sums.
std::unique_ptr<Model> make_single_precision_unigram(const ModelOptions& options, const Cartridge& cartridge,
                                                     const PieceFacts& facts);
// SentencePiece's other models.
std::unique_ptr<Model> make_pieces(const ModelOptions& options, const Cartridge& cartridge, const PieceFacts& facts);

}  // namespace crayon
