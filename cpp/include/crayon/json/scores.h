// The scores of a Unigram model, spelled. The reference reads one in four of the usual spellings as a neighbour of the
// double that was written: it scales the digits by a power of ten (json_number.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crayon::json {

constexpr size_t kScoreRoom = 32;  // bytes that a spelling takes at most

// As Rust writes a double: the fewest digits that say which, with an exponent below 1e-5 and from 1e16. Its end; there
// is room for kScoreRoom bytes at `out`.
char* write_score(char* out, double score);

// A spelling that every reader takes for this very double, if there is one; else the usual one. An integer that is a
// double itself, over a power of ten that is one, is rounded once by the reference's reader and by all others. For a
// score of -30 to -0.001 there is one whenever its significand (from 1 to 2) is at most 1.8, as 10^16 has 1.11; beyond,
// it is missing for about one in a hundred.
std::string spell_score(double score);

// The score, or the nearest neighbour found that the reference reads back as `spell_score` spells it.
double settled_score(double score);

// The tokenizer.json that the reference writes of a living Unigram model, compact, with each score as `spell_score`
// spells it; any other one as it is.
std::string with_exact_scores(std::string_view tokenizer_json);

}  // namespace crayon::json
