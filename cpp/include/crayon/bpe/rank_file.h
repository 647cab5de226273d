// tiktoken's rank files, and their vocabulary as that of a tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crayon {

// Takes the first line off `rest`. False unless it is as `append_rank_line` writes one.
bool take_rank_line(std::string_view* rest, std::string* token, int64_t* rank);
// The token in base64, a space, its rank, and the end of the line.
void append_rank_line(std::string_view token, int64_t rank, std::string* lines);

// The members "vocab" and "merges" of a tokenizer.json. Tokens stand in the order of their ids, and so do special ones.
// Error(vocabulary) for what `merges_from_ranks` refuses.
std::string vocabulary_of_ranks(const std::vector<std::string_view>& tokens, const std::vector<int64_t>& ids,
                                const std::vector<std::pair<std::string, int64_t>>& specials);

}  // namespace crayon
