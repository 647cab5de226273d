// Spells the scores of a Unigram model. Hugging Face tokenizers ("the reference") misreads one in four usual spellings
// as a neighbouring double, because it scales the digits by a power of ten (json_number.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crayon::json {

constexpr size_t kScoreRoom = 32;  // most bytes of a spelling

// Writes a double as Rust does: the fewest digits that identify it, with an exponent below 1e-5 and from 1e16. `out`
// needs kScoreRoom bytes. Returns the end.
char* write_score(char* out, double score);

// Returns a spelling that every reader reads as exactly this double, or the usual spelling if none is found. Such a
// spelling is an integer divided by a power of ten. Both are exactly doubles, so every reader rounds only once. Scores
// from -30 to -0.001 have one if their significand (from 1 to 2) is at most 1.8. Above 1.8 about one score in a hundred
// has none.
std::string spell_score(double score);

// Returns the score if the reference reads it back from its spelling by `spell_score`. Otherwise returns the nearest
// double found for which the reference does.
double settled_score(double score);

// Returns the compact tokenizer.json that the reference writes for a Unigram model in memory, with scores spelled by
// `spell_score`. Returns any other tokenizer.json unchanged.
std::string with_exact_scores(std::string_view tokenizer_json);

}  // namespace crayon::json
