// What an engine in exact mode does to one text, step by step, for people to look at: the plain textbook way over the
// engine's own tables, which ends in the engine's ids; beside it longest match, which is greedy mode. Slow, and
// bounded: see the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/bytes.h"

namespace crayon {

// The plain way costs the square of a piece's length, so longer pieces have no derivation.
constexpr size_t kTracePieceBytes = 4096;
// Walks are many records for each token, so only the beginning of a longer run is walked.
constexpr size_t kTraceRunBytes = size_t(1) << 16;
// The same for a vocabulary whose tokens make walks long.
constexpr size_t kTraceSteps = size_t(1) << 20;

// A piece (pretoken) of a segment's text: bytes [start, end) of that, [original_start, original_end) of the input.
struct TracePiece {
    size_t start, end;
    size_t original_start, original_end;
};

// A stretch of the input: an added token that was found in it, or text for the model.
struct TraceSegment {
    std::optional<uint32_t> added;  // the token's id
    size_t start, end;              // bytes of the input
    std::string normalized;         // the stretch as the normalizer leaves it
    std::string text;               // the same as the pre-tokenizer leaves it, in the text's own bytes
    std::vector<TracePiece> pieces;
    // What greedy mode takes in place of the pieces: those that touch each other are one.
    std::vector<Piece> runs;
};

// How Engine::encode_inner_ids takes a text (UTF-8) apart.
std::vector<TraceSegment> trace_segments(const Engine& engine, Bytes text, bool special_as_text);
// How Engine::encode_raw does. Error(unsupported) where that is.
std::vector<TraceSegment> trace_raw_segments(const Engine& engine, Bytes data);

struct TraceToken {
    enum class Kind { token, byte, unknown };  // byte: in place of a part of a character that has no token
    uint32_t id;
    size_t start, end;  // bytes of the piece
    Kind kind;
};

// Symbols `position` and the next one become one.
struct TraceMerge {
    uint32_t rank;
    size_t position;
    uint32_t left, right, product;
};

struct TraceStep {
    uint8_t byte;
    int32_t node;  // of the trie; -1: no token goes on like this
    int32_t id;    // of the token that ends here, -1 when none does that could be the match
};

// One search for the longest token that begins at `start`.
struct TraceWalk {
    size_t start, end;              // the bytes that were matched, or given up
    size_t prefix = 0, suffix = 0;  // so many steps, first and last, are of affixes that the text does not have
    std::vector<TraceStep> steps;   // up to where it stops
    std::vector<TraceToken> tokens;
    bool joins_unknown = false;  // no token of its own: one with the unknown token before
};

// A token on the best path of a Unigram model.
struct TracePathStep {
    TraceToken token;
    double score;
};

struct PieceTrace {
    enum class Shortcut {
        none,
        whole_token,  // the piece is a token, and the model takes those before it thinks of merges (ignore_merges)
        word_table,   // the piece is looked up with the ids that merging gives
    };
    bool is_too_long = false;  // nothing but `tokens`, as the engine gives them
    bool is_random = false;    // the engine skips merges at random, which is not shown
    Shortcut shortcut = Shortcut::none;
    std::vector<TraceToken> symbols;  // BPE: what merging begins with
    size_t dropped = 0;               // BPE: bytes of characters that have no token, nor is there an unknown token
    std::vector<TraceMerge> merges;   // BPE: in order, also where a shortcut makes them needless
    std::vector<TraceWalk> walks;     // WordPiece, and byte-level tables of longest match
    std::vector<TracePathStep> path;  // Unigram
    double score = 0;                 // Unigram: of the path
    std::vector<TraceToken> tokens;   // what the piece becomes
};

// How one piece becomes tokens. `piece` must be UTF-8 where the vocabulary is of text, and not empty.
PieceTrace trace_piece(const Engine& engine, Bytes piece);

// How greedy mode cuts one run, at most kTraceRunBytes of it: the longest match, from the left.
std::vector<TraceWalk> trace_longest_match(const Engine& engine, Bytes run);

// The type of the model, as a tokenizer.json calls it.
const char* trace_model_type(const Engine& engine);

}  // namespace crayon
