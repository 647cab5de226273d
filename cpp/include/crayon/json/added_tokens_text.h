// The added tokens of a tokenizer.json as the tokenizers library writes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace crayon::json {

struct AddedTokenText {
    static constexpr std::array<std::string_view, 5> kFlags{"single_word", "lstrip", "rstrip", "normalized", "special"};

    int64_t id;
    std::string_view content;
    std::array<bool, kFlags.size()> flags;
};

// Bytes that the tokens take at most.
size_t added_tokens_room(const std::vector<AddedTokenText>& tokens, bool pretty);
// Writes the array and returns its end. With `pretty` it is indented as members of the document are.
char* write_added_tokens(char* out, const std::vector<AddedTokenText>& tokens, bool pretty);

}  // namespace crayon::json
