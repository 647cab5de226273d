// Shows how an engine in exact mode encodes one text, step by step. Runs the textbook algorithms over the engine's own
// tables, and arrives at the engine's ids. Also traces longest match, which is greedy mode. Slow; the constants below
// limit its work.
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

// Textbook merging takes time quadratic in a piece's length, so longer pieces have no derivation.
constexpr size_t kTracePieceBytes = 4096;
// Greedy mode's search records each step, so a longer run is traced only up to this many bytes.
constexpr size_t kTraceRunBytes = size_t(1) << 16;
// The most steps of the walks over one run, for vocabularies with long walks.
constexpr size_t kTraceSteps = size_t(1) << 20;

// A piece (pretoken): bytes [start, end) of a part's text, [original_start, original_end) of the input.
struct TracePiece {
    size_t start, end;
    size_t original_start, original_end;
};

// A part of the input: an added token, or text for the model.
struct TracedPart {
    std::optional<uint32_t> added;  // the token's id
    size_t start, end;              // bytes of the input
    std::string normalized;         // the part after the normalizer
    std::string text;               // `normalized` after the pre-tokenizer, in plain bytes (not the byte-level
                                    // alphabet)
    std::vector<TracePiece> pieces;
    // Greedy mode's pieces: those of `pieces`, except that pieces that touch are joined.
    std::vector<Piece> runs;
};

// The parts of a text (UTF-8) as in Engine::encode_inner_ids.
std::vector<TracedPart> trace_parts(const Engine& engine, Bytes text, bool special_as_text);
// The parts of Engine::encode_raw. Throws Error(unsupported) where encode_raw raises it.
std::vector<TracedPart> trace_raw_parts(const Engine& engine, Bytes data);

struct TraceToken {
    enum class Kind { token, byte, unknown };  // byte: replaces a part of a character that has no token
    uint32_t id;
    size_t start, end;  // bytes of the piece
    Kind kind;
};

// Joins the symbols at `position` and `position` + 1.
struct TraceMerge {
    uint32_t rank;
    size_t position;
    uint32_t left, right, product;
};

struct TraceStep {
    uint8_t byte;
    int32_t node;  // of the trie; -1: no token continues so
    int32_t id;    // of the token that ends here; -1: no token that can match ends here
};

// One search for the longest token that begins at `start`.
struct TraceWalk {
    size_t start, end;              // The bytes that matched, or that became unknown.
    size_t prefix = 0, suffix = 0;  // The number of first and last steps that are over an affix of tokens, which the
                                    // text lacks.
    std::vector<TraceStep> steps;   // up to the last one tried
    std::vector<TraceToken> tokens;
    bool joins_unknown = false;  // the token joins the unknown token before it
};

// A token on the best path of a Unigram model.
struct TracePathStep {
    TraceToken token;
    double score;
};

struct PieceTrace {
    enum class Shortcut {
        none,
        whole_token,  // the piece is a token, which the model takes without merging (ignore_merges)
        word_table,   // the word table has the piece, with the ids that merging gives
    };
    bool is_too_long = false;  // only `tokens` is filled, by the engine
    bool is_random = false;    // the engine skips random merges, which the trace does not show
    Shortcut shortcut = Shortcut::none;
    std::vector<TraceToken> symbols;  // BPE: the symbols before merging
    size_t dropped = 0;               // BPE: bytes of dropped characters, which have no token and no unknown token
    std::vector<TraceMerge> merges;   // BPE: in order, also if a shortcut replaces them
    std::vector<TraceWalk> walks;     // WordPiece, and byte-level tables of longest match
    std::vector<TracePathStep> path;  // Unigram
    double score = 0;                 // Unigram: of the path
    std::vector<TraceToken> tokens;   // the tokens of the piece
};

// Traces one piece, not empty. It must be UTF-8 if the vocabulary is of text.
PieceTrace trace_piece(const Engine& engine, Bytes piece);

// Traces greedy mode's longest match over one run, up to kTraceRunBytes.
std::vector<TraceWalk> trace_longest_match(const Engine& engine, Bytes run);

// The type of the model, as a tokenizer.json names it.
const char* trace_model_type(const Engine& engine);

}  // namespace crayon
