// The models of a tokenizer.json on text: they turn one piece into tokens. Byte-level BPE uses byte_level.h
// instead.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/json/json.h"
#include "crayon/models/longest_match.h"
#include "crayon/simd/kernels.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "crayon/unicode/border.h"

namespace crayon {

class Memo;
class WordIds;

struct ModelToken {
    uint32_t id;
    uint32_t start, end;  // bytes of the piece, as Hugging Face tokenizers (the reference) gives them
    bool own_text;  // the token shows the piece's bytes [start, end), not its id's string (Unigram's unknown pieces)
};

// A model's working memory. One thread at a time uses it, with one model.
class ModelScratch {
  public:
    ModelScratch();
    virtual ~ModelScratch();
    virtual void trim();           // frees memory that an unusually large input took
    virtual size_t bytes() const;  // allocated size

    void rest();  // releases references to the memos until the next use

    // Caches of pieces and their ids, created at first use.
    WordIds& plain() { return known(0); }   // of pieces as the text has them
    WordIds& marked() { return known(1); }  // of pieces with white space as U+2581
    WordIds& packed() { return known(2); }  // with packed tokens in place of ids (models/known_tokens.h)
    static constexpr size_t kMemos = 3;

    std::vector<ModelToken> tokens;
    std::string spelled;
    const Kernels* kernels = &kScalarKernels;
    Memo* memos = nullptr;  // the caches behind those above, shared by all threads: one for each, or null
    IdBuffer numbers;       // read from a cache: packed tokens, or ids with further bits

  private:
    WordIds& known(size_t which);

    std::unique_ptr<WordIds> known_[kMemos];
};

// A view of a cartridge with text tokens, which must outlive it. Immutable.
class Model {
  public:
    virtual ~Model() = default;
    virtual std::unique_ptr<ModelScratch> make_scratch() const = 0;
    // Appends the tokens of `piece` (valid UTF-8, not empty). Throws Error(vocabulary) if the reference fails to encode
    // it.
    virtual void tokenize(Bytes piece, ModelScratch* scratch, std::vector<ModelToken>* out) const = 0;
    // Appends the tokens of pieces of `text`, in order. ends[i] is the number of tokens in `out` after those of piece
    // i.
    void tokenize_all(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, std::vector<ModelToken>* out,
                      size_t* ends) const;
    // Appends only the ids of `piece`.
    virtual void encode_piece(Bytes piece, ModelScratch* scratch, IdBuffer* out) const;
    // Appends the ids of pieces of `text`, in order. Much faster than a call for each, because it caches pieces.
    virtual void encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const;
    // Appends the ids of words of `text`. First puts U+2581 in front of each word that does not begin with it, and cuts
    // before each U+2581.
    void encode_words(Bytes text, const Piece* words, size_t n, ModelScratch* scratch, IdBuffer* out) const;
    // Appends the ids of one piece: `text` with each space as U+2581, and with one more U+2581 in front if `prefix`.
    // Returns false, with nothing done, if takes_spaced() is false, or if writing the piece out and encoding it is as
    // fast.
    virtual bool takes_spaced() const { return false; }
    virtual bool encode_spaced(Bytes text, bool prefix, ModelScratch* scratch, IdBuffer* out) const;
    // Whether tokenize_all looks pieces up. Each token of such a model begins where the token before it ends, or where
    // that token begins.
    virtual bool knows_tokens() const { return false; }
    // Whether one piece can have different tokens (dropout).
    virtual bool is_random() const { return false; }
    // Whether encoding any text surely succeeds.
    virtual bool takes_any_text() const { return false; }
    // Whether any piece with this border (border.h) has the same tokens if it is cut there.
    virtual bool divides(const Border& border) const {
        (void)border;
        return false;
    }
};

// `options` is the "model" of the tokenizer.json without "vocab" and "merges" (ModelSpec::options). Throws the errors
// of make_normalizer.
std::unique_ptr<Model> make_model(const json::Value& options, const Cartridge& cartridge, const Kernels& kernels);

// The vocabulary of a model, in greedy mode. Text never becomes one of `specials`, nor a byte's token by its name:
// "<0x41>" in a text is plain text. WordPiece stays unchanged: it already takes the longest match.
struct GreedyModel {
    std::unique_ptr<Model> model;
    LongestMatch match;         // tokens that text can become
    bool joins_pieces = false;  // Whether touching pieces count as one. True if tokens do not mark the ends of words.
};
GreedyModel make_greedy_model(const json::Value& options, const Cartridge& cartridge, const Kernels& kernels,
                              const std::vector<uint32_t>& specials);

}  // namespace crayon
