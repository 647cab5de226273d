// The models of a tokenizer.json on text: what makes tokens of one piece. (Byte-level BPE has a way of its own:
// segment_encoder.h.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/json/json.h"
#include "crayon/models/longest_match.h"
#include "crayon/support/bytes.h"
#include "crayon/support/cpu.h"
#include "crayon/support/id_buffer.h"
#include "crayon/unicode/border.h"

namespace crayon {

class Memo;
class WordIds;

struct ModelToken {
    uint32_t id;
    uint32_t start, end;  // bytes of the piece, as the reference has the token's offsets
    bool own_text;  // the token shows the piece's bytes [start, end), not its id's string (Unigram's unknown pieces)
};

// A model's working memory: belongs to one thread at a time, and to one model.
class ModelScratch {
  public:
    ModelScratch();
    virtual ~ModelScratch();
    virtual void trim();           // gives back what an unusually large input made grow
    virtual size_t bytes() const;  // of memory that it holds

    void rest();  // holds nothing of the memos until it is used again

    // Pieces and what they became before, of each way to write a piece; made when first used.
    WordIds& plain();   // as they are
    WordIds& marked();  // before their white space became U+2581

    std::vector<ModelToken> tokens;
    std::string spelled;
    CpuLevel level = CpuLevel::scalar;  // of what looks pieces up
    Memo* memos = nullptr;              // two, for plain and marked pieces; or null

  private:
    std::unique_ptr<WordIds> plain_, marked_;
};

// A view of a cartridge whose tokens are text, which it must not outlive. Immutable.
class Model {
  public:
    virtual ~Model() = default;
    virtual std::unique_ptr<ModelScratch> make_scratch() const = 0;
    // Appends the tokens of `piece` (valid UTF-8, not empty). Error(vocabulary) where the reference fails to encode.
    virtual void tokenize(Bytes piece, ModelScratch* scratch, std::vector<ModelToken>* out) const = 0;
    // Appends their ids alone.
    virtual void encode_piece(Bytes piece, ModelScratch* scratch, IdBuffer* out) const;
    // The same for pieces of `text`, in order. Much faster: what was met before is not tokenized again.
    virtual void encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const;
    // The same for words of `text`, each given U+2581 in front unless it begins so, and cut before each U+2581.
    void encode_words(Bytes text, const Piece* words, size_t n, ModelScratch* scratch, IdBuffer* out) const;
    // The same for one piece: `text` with each space as U+2581, and another in front if `prefix`. False, with nothing
    // done, where there is no faster way than to write the piece: always, unless takes_spaced.
    virtual bool takes_spaced() const { return false; }
    virtual bool encode_spaced(Bytes text, bool prefix, ModelScratch* scratch, IdBuffer* out) const;
    // Whether a piece need not become the same tokens every time.
    virtual bool is_random() const { return false; }
    // Whether it is known that no text is an error.
    virtual bool takes_any_text() const { return false; }
    // Whether any piece with this border has the tokens of its parts.
    virtual bool divides(const Border& border) const {
        (void)border;
        return false;
    }
};

// `options` is the "model" of the tokenizer.json without "vocab" and "merges" (ModelSpec::options). Errors as for
// make_normalizer.
std::unique_ptr<Model> make_model(const json::Value& options, const Cartridge& cartridge, CpuLevel level);

// The same vocabulary in greedy mode. No text becomes one of `specials`, nor the name of a byte's token. WordPiece is
// longest match already, and stays as it is.
struct GreedyModel {
    std::unique_ptr<Model> model;
    LongestMatch match;         // the tokens that text can become
    bool joins_pieces = false;  // it takes pieces that touch each other as one: no token says that a word ends there
};
GreedyModel make_greedy_model(const json::Value& options, const Cartridge& cartridge, CpuLevel level,
                              const std::vector<uint32_t>& specials);

}  // namespace crayon
