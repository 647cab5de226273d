// Shared by the files of trace.h: the inside of an engine, and its model in plain form.
#pragma once

#include <string>

#include "crayon/engine/engine.h"
#include "crayon/support/error.h"
#include "crayon/trace/trace.h"
#include "engine/engine_impl.h"
#include "models/model_common.h"

namespace crayon {

// Throws Error(argument) for an engine in greedy mode. Traces of an engine in exact mode show greedy mode's longest
// match, too.
inline void check_exact(const Engine& engine) {
    if (engine.is_greedy())
        throw Error(ErrorKind::argument, "only an engine in exact mode has traces; they show longest match as well");
}

// The model in an engine's cartridge (its compiled vocabulary). The cartridge must outlive this object.
struct TraceModel {
    explicit TraceModel(const Engine& engine);

    const Cartridge& cartridge;
    ModelOptions options;
    uint32_t unk_id = kNoId;  // kNoId: the model names no unknown token, or one that its vocabulary lacks
    bool on_bytes;
    bool merges_bytes;  // byte-level tables with merges

    // Throws Error(utf8) if the vocabulary is of text and `text` is not UTF-8.
    void check(Bytes text) const;
    // Returns the id of a token of the model, or kNoId if unknown.
    uint32_t find(Bytes token) const { return find_model_token(cartridge, token.view()); }
    // Returns the tokens <0xNN> of these bytes, or none unless the model has byte_fallback and all of these tokens.
    std::vector<TraceToken> byte_tokens(Bytes text, size_t start, size_t end) const;
    // Returns the unknown token. Throws Error(vocabulary) where the engine throws it, too.
    TraceToken unknown(size_t start, size_t end) const;
};

// The rules of a search for the longest token.
struct WalkRules {
    std::string_view prefix;              // of tokens that do not begin the text
    std::string_view suffix;              // of tokens that end it
    const LongestMatch* match = nullptr;  // tells which tokens never match
};

// Walks the trie from `start` until no token continues. If no token matches, the walk has no token, and its `end` is
// `start`.
TraceWalk walk_trie(const DoubleArrayView& trie, const WalkRules& rules, Bytes text, size_t start);

// Returns the walks over a piece, for a WordPiece model or byte-level tables of longest match.
std::vector<TraceWalk> walk_piece(const TraceModel& model, Bytes piece);

}  // namespace crayon
