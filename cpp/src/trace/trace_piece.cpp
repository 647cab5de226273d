// The derivation of one piece's tokens: textbook merging, and the best path.
#include <algorithm>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "trace/trace_common.h"

namespace crayon {
namespace {

using Kind = TraceToken::Kind;

constexpr double kUnknownPenalty = 10;

// The engine's own tokens of a piece.
std::vector<TraceToken> engine_tokens(const Engine& engine, const TraceModel& model, Bytes piece) {
    const Engine::Impl& p = engine.impl();
    const Engine::Lease lease(engine);
    Scratch& s = *lease;
    std::vector<TraceToken> out;
    if (model.on_bytes) {
        IdBuffer ids;
        encode_pieces(p.tables(model.cartridge), piece, {{0, uint32_t(piece.size)}}, s, &ids, nullptr);
        size_t at = 0;
        for (size_t i = 0; i < ids.size(); ++i) {
            const uint32_t id = uint32_t(ids.data()[i]);
            const size_t end = at + model.cartridge.bytes_of(id).size;
            out.push_back({id, at, end, Kind::token});
            at = end;
        }
        return out;
    }
    s.tokens.clear();
    p.pipeline.model->tokenize(piece, s.model.get(), &s.tokens);
    for (const ModelToken& token : s.tokens)
        out.push_back({token.id, token.start, token.end, token.own_text ? Kind::unknown : Kind::token});
    return out;
}

// BPE on text begins with characters, spelled by their place in the piece. A character without a token becomes the
// tokens of its bytes, or unknown.
void make_symbols(const TraceModel& model, Bytes piece, PieceTrace* out) {
    const std::string prefix = model.options.continuing_subword_prefix.value_or("");
    const std::string suffix = model.options.end_of_word_suffix.value_or("");
    size_t unknown = 0, done = 0;  // bytes that will become one unknown token; bytes that have symbols already
    const auto add_unknown = [&] {
        if (unknown > 0) out->symbols.push_back(model.unknown(done, done + unknown));
        done += unknown;
        unknown = 0;
    };
    for (size_t at = 0, end; at < piece.size; at = end) {
        end = at + char_size(piece, at);
        std::string spelled(piece.slice(at, end).view());
        if (at > 0) spelled.insert(0, prefix);
        if (end == piece.size) spelled += suffix;
        const uint32_t id = model.find(spelled);
        if (id != kNoId) {
            add_unknown();
            out->symbols.push_back({id, done, done + (end - at), Kind::token});
            done += end - at;
            continue;
        }
        const std::vector<TraceToken> bytes = model.byte_tokens(piece, at, end);
        for (const TraceToken& byte : bytes) {
            out->symbols.push_back({byte.id, done, done + 1, Kind::byte});
            ++done;
        }
        if (!bytes.empty()) continue;
        if (!model.options.unk_token) {
            out->dropped += end - at;
            continue;
        }
        if (!model.options.fuse_unk) add_unknown();
        model.unknown(at, end);  // fails without an unknown token, in the engine's order
        unknown += end - at;
    }
    add_unknown();
}

// Merges the neighbours of lowest rank, the leftmost first, until none can merge.
void merge_symbols(const MergeTables& tables, PieceTrace* out) {
    std::vector<TraceToken> symbols = out->symbols;
    for (;;) {
        uint32_t best = kNoRank;
        size_t position = 0;
        for (size_t i = 0; i + 1 < symbols.size(); ++i) {
            const uint32_t rank = tables.rank(symbols[i].id, symbols[i + 1].id);
            if (rank < best) {
                best = rank;
                position = i;
            }
        }
        if (best == kNoRank) break;
        TraceToken& left = symbols[position];
        const TraceToken& right = symbols[position + 1];
        const uint32_t product = tables.products[best];
        out->merges.push_back({best, position, left.id, right.id, product});
        left = {product, left.start, right.end, Kind::token};
        symbols.erase(symbols.begin() + std::ptrdiff_t(position) + 1);
    }
    out->tokens = std::move(symbols);
}

void trace_byte_bpe(const Engine& engine, const TraceModel& model, Bytes piece, PieceTrace* out) {
    const Cartridge& cartridge = model.cartridge;
    for (size_t i = 0; i < piece.size; ++i)
        out->symbols.push_back({cartridge.byte_ids[piece[i]], i, i + 1, Kind::token});
    merge_symbols(engine.impl().merges, out);
    const int32_t whole = cartridge.trie.find(piece);
    if (whole >= 0 && (cartridge.program().flags & kIgnoreMerges)) {
        out->shortcut = PieceTrace::Shortcut::whole_token;
        out->tokens.assign(1, {uint32_t(whole), 0, piece.size, Kind::token});
        return;
    }
    bool is_listed = whole >= 0 && (cartridge.token_flags[size_t(whole)] & kWhole);
    if (piece.size <= kWordKeyBytes) {
        const WordKey key = word_key(piece.data, piece.size, piece.end());
        is_listed = find_word(cartridge.word_table.data, cartridge.word_table.size / 2 - 1, word_hash(key.lo, key.hi),
                              key) != nullptr;
    }
    if (is_listed) out->shortcut = PieceTrace::Shortcut::word_table;
}

void trace_text_bpe(const TraceModel& model, Bytes piece, PieceTrace* out) {
    out->is_random = model.options.is_random();
    make_symbols(model, piece, out);
    merge_symbols(MergeTables::of(model.cartridge), out);
    const int32_t whole = model.cartridge.trie.find(piece);
    if (whole < 0 || !model.options.ignore_merges || out->is_random) return;
    out->shortcut = PieceTrace::Shortcut::whole_token;
    out->tokens.assign(1, {uint32_t(whole), 0, piece.size, Kind::token});
}

// Calls use(end, id) for every token that begins at `start`.
template <typename Use>
void for_each_token(const DoubleArrayView& trie, Bytes text, size_t start, Use&& use) {
    const TraceWalk walk = walk_trie(trie, {}, text, start);
    for (size_t i = 0; i < walk.steps.size(); ++i)
        if (walk.steps[i].id >= 0) use(start + i + 1, uint32_t(walk.steps[i].id));
}

// Adds the tokens of joined unknown characters: the token that equals them (the best path did not take it), their
// bytes, or the unknown token.
void add_unknown(const TraceModel& model, Bytes piece, size_t start, size_t end, std::vector<TraceToken>* out) {
    const int32_t id = model.cartridge.trie.find(piece.slice(start, end));
    if (id >= 0) return out->push_back({uint32_t(id), start, end, Kind::token});
    const std::vector<TraceToken> bytes = model.byte_tokens(piece, start, end);
    if (bytes.empty()) return out->push_back(model.unknown(start, end));
    for (const TraceToken& byte : bytes) out->push_back({byte.id, start, end, Kind::byte});
}

void trace_unigram(const TraceModel& model, Bytes piece, PieceTrace* out) {
    struct Way {
        bool is_there = false;
        double score = 0;
        TracePathStep last{};
    };
    const Array<double> scores = model.cartridge.scores;
    const double unknown_score = scores[scores.size - 1] - kUnknownPenalty;
    std::vector<Way> best(piece.size + 1);
    const auto offer = [&](const Way& from, const TraceToken& token, double score) {
        Way& to = best[token.end];
        if (!to.is_there || score + from.score > to.score) to = {true, score + from.score, {token, score}};
    };
    for (size_t start = 0, next; start < piece.size; start = next) {
        const Way from = best[start];
        next = start + char_size(piece, start);
        bool has_char = false;
        for_each_token(model.cartridge.trie, piece, start, [&](size_t end, uint32_t id) {
            const Kind kind = id == model.unk_id ? Kind::unknown : Kind::token;
            offer(from, {id, start, end, kind}, scores[id]);
            has_char |= end == next;
        });
        if (has_char) continue;
        const double score = unknown_score + from.score;
        if (!best[next].is_there || score > best[next].score) offer(from, model.unknown(start, next), unknown_score);
    }
    out->score = best[piece.size].score;
    for (size_t end = piece.size; end > 0; end = best[end].last.token.start) out->path.push_back(best[end].last);
    std::reverse(out->path.begin(), out->path.end());
    for (size_t i = 0; i < out->path.size(); ++i) {
        const TraceToken& token = out->path[i].token;
        size_t end = token.end;
        if (token.kind != Kind::unknown) {
            out->tokens.push_back(token);
            continue;
        }
        while (i + 1 < out->path.size() && out->path[i + 1].token.kind == Kind::unknown) end = out->path[++i].token.end;
        add_unknown(model, piece, token.start, end, &out->tokens);
    }
}

}  // namespace

TraceModel::TraceModel(const Engine& engine)
    : cartridge(engine.cartridge()),
      on_bytes(!cartridge.has_text_tokens()),
      merges_bytes(on_bytes && !cartridge.pair_table.empty()) {
    const json::Document document = json::parse(engine.components());
    const json::Value* const model = document.root.find("model");
    if (model != nullptr && !model->is_null()) {
        const ModelType type = read_model_type(*model).value_or(ModelType::bpe);
        options = read_model_options(*model, type);
    }
    if (options.unk_id) unk_id = *options.unk_id;
    if (options.unk_token) unk_id = find(*options.unk_token);
}

void TraceModel::check(Bytes text) const {
    if (!on_bytes && utf8_error(text.data, text.size) != text.size)
        throw Error(ErrorKind::utf8, "a vocabulary over text takes only UTF-8");
}

std::vector<TraceToken> TraceModel::byte_tokens(Bytes text, size_t start, size_t end) const {
    std::vector<TraceToken> out;
    if (!options.byte_fallback || on_bytes) return out;
    for (size_t i = start; i < end; ++i) {
        const uint32_t id = find(byte_token(text[i]));
        if (id == kNoId) return {};
        out.push_back({id, i, i + 1, Kind::byte});
    }
    return out;
}

TraceToken TraceModel::unknown(size_t start, size_t end) const {
    if (unk_id == kNoId)
        throw Error(ErrorKind::vocabulary, "a character that no token has, in a model without an unknown token");
    return {unk_id, start, end, Kind::unknown};
}

namespace {}  // namespace

PieceTrace trace_piece(const Engine& engine, Bytes piece) {
    check_exact(engine);
    const TraceModel model(engine);
    if (piece.empty()) throw Error(ErrorKind::argument, "an empty piece has no tokens");
    model.check(piece);
    PieceTrace out;
    out.is_too_long = piece.size > kTracePieceBytes;
    if (out.is_too_long) {
        out.tokens = engine_tokens(engine, model, piece);
    } else if (model.merges_bytes) {
        trace_byte_bpe(engine, model, piece, &out);
    } else if (model.on_bytes || model.options.type == ModelType::word_piece) {
        out.walks = walk_piece(model, piece);
        for (const TraceWalk& walk : out.walks)
            out.tokens.insert(out.tokens.end(), walk.tokens.begin(), walk.tokens.end());
    } else if (model.options.type == ModelType::bpe) {
        trace_text_bpe(model, piece, &out);
    } else if (model.options.type == ModelType::unigram) {
        trace_unigram(model, piece, &out);
    } else {
        const uint32_t id = model.find(piece);
        out.tokens.push_back(id != kNoId ? TraceToken{id, 0, piece.size, Kind::token} : model.unknown(0, piece.size));
    }
    return out;
}

const char* trace_model_type(const Engine& engine) {
    switch (TraceModel(engine).options.type) {
        case ModelType::word_piece:
            return "WordPiece";
        case ModelType::word_level:
            return "WordLevel";
        case ModelType::unigram:
            return "Unigram";
        default:
            return "BPE";
    }
}

}  // namespace crayon
