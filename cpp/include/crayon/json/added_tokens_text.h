// Writes the added tokens of a tokenizer.json as the tokenizers library does.
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

// The most bytes that write_added_tokens can write.
size_t added_tokens_room(const std::vector<AddedTokenText>& tokens, bool pretty);
// Writes the array to `out` and returns the end of the array. `pretty` indents it as a member of the document.
char* write_added_tokens(char* out, const std::vector<AddedTokenText>& tokens, bool pretty);

}  // namespace crayon::json
