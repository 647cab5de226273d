// SentencePiece's models bpe, which joins neighbouring pieces, and character and word, which do not. Of all neighbours
// that together form a piece, the library (version 0.2.3) first joins those with the best score, leftmost among equals.
// A tokenizer.json ranks pairs instead, which is much faster. This file is needed for pieces with equal scores, for
// pieces that are split again, and for pieces made of characters that are not pieces.
#include <algorithm>
#include <cstring>
#include <queue>
#include <unordered_map>

#include "crayon/cartridge/double_array.h"
#include "crayon/support/error.h"
#include "encode/memo/word_ids.h"
#include "models/model_common.h"

namespace crayon {
namespace {

constexpr int kDeepest = 100;  // most times that a piece is split

// Whether a < b, with -0 below 0.
bool is_less(float a, float b) {
    int32_t x, y;
    std::memcpy(&x, &a, sizeof x);
    std::memcpy(&y, &b, sizeof y);
    return (x & y) < 0 ? x > y : x < y;
}

struct Pair {
    float score;
    uint32_t left, right;
    size_t size;  // bytes of both neighbours
};

struct WorsePair {
    bool operator()(const Pair& a, const Pair& b) const {
        return is_less(a.score, b.score) || (!is_less(b.score, a.score) && a.left > b.left);
    }
};

struct Symbol {
    uint32_t start, end;  // empty after the symbol was joined to the one before
    uint32_t before, after;
    bool frozen;  // never joined to a neighbour
};

class Pieces final : public Model {
  public:
    Pieces(const ModelOptions& options, const Cartridge& cartridge, const PieceFacts& facts)
        : trie_(cartridge.trie), kind_(facts.model), scores_(facts.scores) {
        const size_t n = cartridge.program().n_ids;
        const uint32_t unknown = find_model_token(cartridge, options.unk_token.value_or(""));
        if (options.byte_fallback) byte_ids_ = cartridge.byte_ids;
        if ((options.byte_fallback && byte_ids_.size != 256) || unknown == kNoId ||
            (kind_ == PieceModel::bpe && scores_.size() != n))
            throw Error(ErrorKind::cartridge, "the metadata about pieces does not fit the vocabulary");
        unk_id_ = unknown;
        kinds_.assign(n, kFound);
        const auto set = [&](uint32_t id, uint8_t kind) {
            if (id < n) kinds_[id] = kind;
        };
        for (const uint32_t id : facts.never) set(id, kNever);
        for (const uint32_t id : byte_ids_) set(id, kNever);
        for (const uint32_t id : facts.unused) set(id, kUnused);
        set(unk_id_, kNever);
        std::vector<std::pair<std::string_view, int32_t>> keys;
        for (const uint32_t id : facts.user_defined)
            if (id < n && kind_ != PieceModel::word) keys.emplace_back(cartridge.bytes_of(id).view(), int32_t(id));
        sort_keys(&keys);
        if (!keys.empty()) user_defined_ = build_double_array(keys);
        // Words are encoded one by one unless pieces are split again, which depends on the whole text, or unknown
        // characters can join across a space.
        words_are_apart_ = kind_ != PieceModel::word && facts.unused.empty() && piece_of(Bytes(kSpaceMark)) != unk_id_;
        for (uint32_t id = 0; id < n && words_are_apart_; ++id)
            words_are_apart_ =
                kinds_[id] == kNever || cartridge.bytes_of(id).view().find(kSpaceMark, 1) == std::string_view::npos;
    }

    std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<ModelScratch>(); }

    void tokenize(Bytes text, ModelScratch*, std::vector<ModelToken>* out) const override {
        checked_size(text);
        std::vector<Symbol> symbols = symbols_of(text);
        Parts parts;
        if (kind_ == PieceModel::bpe) join(text, &symbols, &parts);
        size_t unknown = 0;  // the token of a run of unknown characters
        bool in_run = false;
        const auto put = [&](uint32_t start, uint32_t end, uint32_t id) {
            if (id != unk_id_) {
                in_run = false;
                out->push_back({id, start, end, false});
            } else if (!byte_ids_.empty()) {
                for (uint32_t at = start; at < end; ++at) out->push_back({byte_ids_[text[at]], start, end, false});
            } else if (in_run) {
                (*out)[unknown].end = end;
            } else {
                in_run = true;
                unknown = out->size();
                out->push_back({unk_id_, start, end, true});
            }
        };
        for (uint32_t i = 0; i != kNoId && !symbols.empty(); i = symbols[i].after)
            take_apart(text, symbols[i].start, symbols[i].end, parts, 0, put);
    }

    void encode_piece(Bytes text, ModelScratch* scratch, IdBuffer* out) const override {
        if (!words_are_apart_) return Model::encode_piece(text, scratch, out);
        checked_size(text);
        std::vector<Piece> words;
        for (size_t at = 0; at < text.size;) {
            const size_t end = at + word_size(text, at);
            words.push_back({uint32_t(at), uint32_t(end)});
            at = end;
        }
        const auto make = [&](Bytes word, IdBuffer* ids) { Model::encode_piece(word, scratch, ids); };
        scratch->plain().encode(text, words.data(), words.size(), WordMaker{make}, out);
    }

    // Uses no cache of pieces, because encode_piece caches words.
    void encode(Bytes text, const Piece* pieces, size_t n, ModelScratch* scratch, IdBuffer* out) const override {
        for (size_t i = 0; i < n; ++i) encode_piece(text.slice(pieces[i].start, pieces[i].end), scratch, out);
    }

  private:
    enum : uint8_t { kFound, kUnused, kNever };
    using Parts = std::unordered_map<std::string_view, uint32_t>;  // the left part's bytes

    std::vector<Symbol> symbols_of(Bytes text) const {
        std::vector<Symbol> symbols;
        const DoubleArrayView user_defined = view_of(user_defined_);
        for (size_t at = 0; at < text.size;) {
            size_t size = user_defined.size > 0 ? user_defined.longest_match(text.slice(at, text.size)).first : 0;
            const bool frozen = size > 0;
            if (!frozen) size = kind_ == PieceModel::word ? word_size(text, at) : char_size(text, at);
            const auto i = uint32_t(symbols.size());
            symbols.push_back({uint32_t(at), uint32_t(at + size), i - 1, i + 1, frozen});
            at += size;
        }
        if (!symbols.empty()) symbols.front().before = symbols.back().after = kNoId;
        return symbols;
    }

    // The size up to the next mark of a space.
    static size_t word_size(Bytes text, size_t at) {
        const size_t found = text.view().find(kSpaceMark, at + 1);
        return (found == std::string_view::npos ? text.size : found) - at;
    }

    // Returns the id of the piece that equals `text`, if text may become this piece, else unk_id_.
    uint32_t piece_of(Bytes text) const {
        const int32_t id = trie_.find(text);
        return id >= 0 && kinds_[size_t(id)] != kNever ? uint32_t(id) : unk_id_;
    }

    void join(Bytes text, std::vector<Symbol>* all, Parts* parts) const {
        std::vector<Symbol>& symbols = *all;
        std::priority_queue<Pair, std::vector<Pair>, WorsePair> pairs;
        const auto consider = [&](uint32_t left, uint32_t right) {
            if (left == kNoId || right == kNoId || symbols[left].frozen || symbols[right].frozen) return;
            const Bytes both = text.slice(symbols[left].start, symbols[right].end);
            const uint32_t id = piece_of(both);
            if (id == unk_id_) return;
            pairs.push({scores_[id], left, right, both.size});
            if (kinds_[id] == kUnused) (*parts)[both.view()] = symbols[left].end - symbols[left].start;
        };
        for (uint32_t i = 1; i < symbols.size(); ++i) consider(i - 1, i);
        while (!pairs.empty()) {
            const Pair pair = pairs.top();
            pairs.pop();
            Symbol &left = symbols[pair.left], &right = symbols[pair.right];
            if (left.start == left.end || right.start == right.end || right.end - left.start != pair.size ||
                left.end != right.start)
                continue;
            left.end = right.end;
            left.after = right.after;
            if (right.after != kNoId) symbols[right.after].before = pair.left;
            right.start = right.end;
            consider(left.before, pair.left);
            consider(pair.left, left.after);
        }
    }

    template <typename Put>
    void take_apart(Bytes text, uint32_t start, uint32_t end, const Parts& parts, int depth, Put& put) const {
        const Bytes piece = text.slice(start, end);
        const uint32_t id = piece_of(piece);
        if (id == unk_id_ || kinds_[id] != kUnused || depth > kDeepest) return put(start, end, id);
        const auto found = parts.find(piece.view());
        if (found == parts.end()) return put(start, end, unk_id_);
        take_apart(text, start, start + found->second, parts, depth + 1, put);
        take_apart(text, start + found->second, end, parts, depth + 1, put);
    }

    const DoubleArrayView trie_;
    const PieceModel kind_;
    const std::vector<float> scores_;
    Array<uint32_t> byte_ids_;
    uint32_t unk_id_;
    std::vector<uint8_t> kinds_;
    DoubleArray user_defined_;
    bool words_are_apart_;  // no piece contains a space after its start
};

}  // namespace

std::unique_ptr<Model> make_pieces(const ModelOptions& options, const Cartridge& cartridge, const PieceFacts& facts) {
    return std::make_unique<Pieces>(options, cartridge, facts);
}

}  // namespace crayon
