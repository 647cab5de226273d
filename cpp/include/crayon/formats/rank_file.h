// tiktoken's rank files, and their conversion to the vocabulary of a tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crayon {

// Removes the first line from `rest` and reads its token and rank. Returns false unless the line has exactly the form
// that `append_rank_line` writes.
bool take_rank_line(std::string_view* rest, std::string* token, int64_t* rank);
// Appends a line: the token in base64, a space, the rank.
void append_rank_line(std::string_view token, int64_t rank, std::string* lines);

// Returns the members "vocab" and "merges" of a tokenizer.json. `tokens` and `specials` are in order of id. Throws
// Error(vocabulary) if `merges_from_ranks` refuses the tokens.
std::string vocabulary_of_ranks(const std::vector<std::string_view>& tokens, const std::vector<int64_t>& ids,
                                const std::vector<std::pair<std::string, int64_t>>& specials);

}  // namespace crayon
