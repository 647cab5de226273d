// WordPiece: from left to right, takes the longest token that the rest of the piece begins with (M. Schuster and K.
// Nakajima, "Japanese and Korean Voice Search", 2012). If no token matches at some place, the whole piece is unknown.
#include <algorithm>

#include "crayon/support/error.h"
#include "models/model_common.h"

namespace crayon {
namespace {

class WordPiece final : public Model {
  public:
    WordPiece(const ModelOptions& options, const Cartridge& cartridge)
        : trie_(cartridge.trie),
          unk_id_(find_model_token(cartridge, options.unk_token.value_or(""))),
          prefix_node_(walk(trie_, options.continuing_subword_prefix.value_or(""))),
          max_chars_(options.max_input_chars_per_word) {}

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<ModelScratch>(); }

    void tokenize(Bytes piece, ModelScratch*, std::vector<ModelToken>* out) const override {
        const uint32_t size = checked_size(piece);
        const size_t before = out->size();
        const auto add = [out](uint32_t id, uint32_t start, uint32_t end) { out->push_back({id, start, end, false}); };
        if (!too_long(piece) && cut(piece, add)) return;
        out->resize(before);
        add(unknown(), 0, size);
    }
    bool knows_tokens() const override { return true; }

    void encode_piece(Bytes piece, ModelScratch*, IdBuffer* out) const override {
        const size_t before = out->size();
        const auto add = [out](uint32_t id, uint32_t, uint32_t) { out->push(int32_t(id)); };
        if (!too_long(piece) && cut(piece, add)) return;
        out->shrink_by(out->size() - before);
        out->push(int32_t(unknown()));
    }

  private:
    uint32_t unknown() const {
        if (unk_id_ == kNoId)
            throw Error(ErrorKind::vocabulary, "WordPiece error: Missing [UNK] token from the vocabulary");
        return unk_id_;
    }

    bool too_long(Bytes piece) const {
        if (piece.size <= max_chars_) return false;
        const auto begins = [](uint8_t byte) { return (byte & 0xC0) != 0x80; };
        return uint64_t(std::count_if(piece.begin(), piece.end(), begins)) > max_chars_;
    }

    template <typename Add>
    bool cut(Bytes piece, Add&& add) const {
        for (size_t start = 0; start < piece.size;) {
            int32_t node = start == 0 ? (trie_.size > 0 ? 0 : -1) : prefix_node_;
            int32_t id = -1;
            size_t end = start;
            for (size_t i = start; i < piece.size && node >= 0;) {
                node = trie_.step(node, piece[i++]);
                if (node < 0 || trie_.values[node] < 0) continue;
                id = trie_.values[node];
                end = i;
            }
            if (id < 0) return false;
            add(uint32_t(id), uint32_t(start), uint32_t(end));
            start = end;
        }
        return true;
    }

    const DoubleArrayView trie_;
    const uint32_t unk_id_;
    const int32_t prefix_node_;  // the trie's node of tokens that continue a piece, or -1
    const uint64_t max_chars_;
};

}  // namespace

std::unique_ptr<Model> make_word_piece(const ModelOptions& options, const Cartridge& cartridge) {
    return std::make_unique<WordPiece>(options, cartridge);
}

}  // namespace crayon
