// Greedy mode of the models on text: from left to right the longest token, ignoring merges and scores.
#include <algorithm>

#include "crayon/support/error.h"
#include "models/match_seams.h"
#include "models/model_common.h"

namespace crayon {
namespace {

class Greedy final : public Model {
  public:
    Greedy(const ModelOptions& options, const Cartridge& cartridge, const Kernels& kernels, const LongestMatch& match)
        : options_(options),
          trie_(cartridge.trie),
          match_(match),
          byte_ids_(options.byte_fallback ? cartridge.byte_ids : Array<uint32_t>()),
          suffix_(options.end_of_word_suffix.value_or("")),
          prefix_node_(walk(trie_, options.continuing_subword_prefix.value_or(""))),
          has_affixes_(options.has_affixes()) {
        if (options.byte_fallback && byte_ids_.size != 256)
            throw Error(ErrorKind::cartridge, "the sections of the model do not fit it");
        if (options.unk_token)
            unk_id_ = find_model_token(cartridge, *options.unk_token);
        else
            unk_id_ = options.unk_id.value_or(kNoId);
        const bool has_all_bytes =
            std::all_of(byte_ids_.begin(), byte_ids_.end(), [](uint32_t id) { return id != kNoId; });
        // A token of several unknown characters may cross a seam.
        const bool joins_unknown = options_.fuses_unknown() && (byte_ids_.empty() || !has_all_bytes);
        if (!has_affixes_ && !joins_unknown) seams_ = MatchSeams(trie_, kernels);
    }

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<ModelScratch>(); }

    void tokenize(Bytes piece, ModelScratch*, std::vector<ModelToken>* out) const override {
        const uint32_t size = checked_size(piece);
        uint32_t unknown = kNoId;  // start of the unknown characters that will become one token; kNoId: none
        const auto flush = [&](uint32_t end) {
            if (unknown != kNoId) out->push_back({unk_id_, unknown, end, options_.type == ModelType::unigram});
            unknown = kNoId;
        };
        for (uint32_t at = 0; at < size;) {
            const Match match = longest(piece, at);
            if (match.id >= 0) {
                flush(at);
                out->push_back({uint32_t(match.id), at, match.end, false});
                at = match.end;
                continue;
            }
            const uint32_t next = at + uint32_t(char_size(piece, at));
            if (has_bytes(piece.slice(at, next))) {
                flush(at);
                for (; at < next; ++at) out->push_back({byte_ids_[piece[at]], at, at + 1, false});
                continue;
            }
            if (is_unknown_given()) {
                if (!options_.fuses_unknown()) flush(at);
                if (unknown == kNoId) unknown = at;
            } else {
                flush(at);
            }
            at = next;
        }
        flush(size);
    }

    // Encodes word by word, if seams exist.
    void encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const override {
        if (!seams_.exist()) return Model::encode(text, pieces, n, scratch, out);
        const auto encode_words = [&](Bytes rest, const Piece* words, size_t found) {
            Model::encode(rest, words, found, scratch, out);
        };
        for (size_t i = 0; i < n; ++i) seams_.cut(text.slice(pieces[i].start, pieces[i].end), encode_words);
    }

    bool divides(const Border& border) const override { return seams_.exist() && seams_.divide(border); }

  private:
    struct Match {
        int32_t id;
        uint32_t end;
    };

    Match longest(Bytes piece, uint32_t at) const {
        if (has_affixes_) return longest_with_affixes(piece, at);
        const auto [bytes, id] = match_.at(piece.slice(at, piece.size));
        return {id, uint32_t(at + bytes)};
    }

    // Tokens after a piece's start have the prefix, tokens at its end the suffix.
    Match longest_with_affixes(Bytes piece, uint32_t at) const {
        Match best{-1, at};
        int32_t node = at == 0 ? (trie_.size > 0 ? 0 : -1) : prefix_node_;
        for (uint32_t i = at; i < piece.size && node >= 0;) {
            node = trie_.step(node, piece[i++]);
            int32_t whole = node;
            if (i == piece.size)
                for (size_t k = 0; k < suffix_.size() && whole >= 0; ++k)
                    whole = trie_.step(whole, uint8_t(suffix_[k]));
            if (whole >= 0 && trie_.values[whole] >= 0 && !match_.is_never(trie_.values[whole]))
                best = {trie_.values[whole], i};
        }
        return best;
    }

    bool has_bytes(Bytes character) const {
        const auto has_token = [this](uint8_t byte) { return byte_ids_[byte] != kNoId; };
        return !byte_ids_.empty() && std::all_of(character.begin(), character.end(), has_token);
    }

    // Without an unknown token BPE skips characters, as in exact mode; the other models cannot continue.
    bool is_unknown_given() const {
        if (unk_id_ != kNoId) return true;
        switch (options_.type) {
            case ModelType::bpe:
                if (!options_.unk_token) return false;
                throw Error(ErrorKind::vocabulary,
                            "Unk token `" + *options_.unk_token + "` not found in the vocabulary");
            case ModelType::unigram:
                throw Error(ErrorKind::vocabulary, "Encountered an unknown token but `unk_id` is missing");
            default:
                throw Error(ErrorKind::vocabulary, "WordLevel error: Missing [UNK] token from the vocabulary");
        }
    }

    const ModelOptions options_;
    const DoubleArrayView trie_;
    const LongestMatch match_;
    const Array<uint32_t> byte_ids_;  // empty without byte_fallback
    const std::string suffix_;
    const int32_t prefix_node_;  // the trie's node of tokens that continue a piece
    const bool has_affixes_;
    MatchSeams seams_;  // empty if tokens with affixes or of unknown characters could cross one
    uint32_t unk_id_;
};

}  // namespace

GreedyModel make_greedy_model(const json::Value& options, const Cartridge& cartridge, const Kernels& kernels,
                              const std::vector<uint32_t>& specials) {
    const ModelOptions read = read_typed_options(options);
    GreedyModel out;
    if (read.type == ModelType::word_piece) {
        out.match = LongestMatch(cartridge.trie);
        out.model = make_word_piece(read, cartridge);
        return out;
    }
    std::vector<uint32_t> never = specials;
    // A byte's token has a name such as "<0x41>". The name in a text is plain text.
    if (read.byte_fallback)
        std::copy_if(cartridge.byte_ids.begin(), cartridge.byte_ids.end(), std::back_inserter(never),
                     [](uint32_t id) { return id != kNoId; });
    out.match = LongestMatch(cartridge.trie, never);
    out.model = std::make_unique<Greedy>(read, cartridge, kernels, out.match);
    out.joins_pieces = !read.has_affixes();
    return out;
}

}  // namespace crayon
