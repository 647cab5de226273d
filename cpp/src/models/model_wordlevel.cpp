// WordLevel: a piece is a token or unknown.
#include "crayon/support/error.h"
#include "models/model_common.h"

namespace crayon {
namespace {

class WordLevel final : public Model {
  public:
    WordLevel(const ModelOptions& options, const Cartridge& cartridge)
        : trie_(cartridge.trie), unk_id_(find_model_token(cartridge, options.unk_token.value_or(""))) {}

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<ModelScratch>(); }

    void tokenize(Bytes piece, ModelScratch*, std::vector<ModelToken>* out) const override {
        const int32_t found = trie_.find(piece);
        const uint32_t id = found >= 0 ? uint32_t(found) : unk_id_;
        if (id == kNoId) throw Error(ErrorKind::vocabulary, "WordLevel error: Missing [UNK] token from the vocabulary");
        out->push_back({id, 0, checked_size(piece), false});
    }

  private:
    const DoubleArrayView trie_;
    const uint32_t unk_id_;
};

}  // namespace

std::unique_ptr<Model> make_word_level(const ModelOptions& options, const Cartridge& cartridge) {
    return std::make_unique<WordLevel>(options, cartridge);
}

}  // namespace crayon
