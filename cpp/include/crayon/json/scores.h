// Spells the scores of a Unigram model. The reference misreads one in four usual spellings as a neighbouring double,
// because it scales the digits by a power of ten (json_number.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crayon::json {

constexpr size_t kScoreRoom = 32;  // most bytes of a spelling

// Writes a double as Rust does: the fewest digits that identify it, with an exponent below 1e-5 and from 1e16. `out`
// needs kScoreRoom bytes. Returns the end.
char* write_score(char* out, double score);

// A spelling that every reader takes for this very double; else the usual one. It is an integer that is exactly a
// double, over a power of ten that is one, too, so all readers round once. Scores from -30 to -0.001 have one if their
// significand (from 1 to 2) is at most 1.8. Beyond 1.8 about one in a hundred has none.
std::string spell_score(double score);

// The score, or the nearest neighbour found that the reference reads back from `spell_score`.
double settled_score(double score);

// The compact tokenizer.json that the reference writes for a Unigram model in memory, with scores spelled by
// `spell_score`. Other tokenizer.json files stay unchanged.
std::string with_exact_scores(std::string_view tokenizer_json);

}  // namespace crayon::json
