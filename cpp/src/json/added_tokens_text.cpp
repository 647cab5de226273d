#include "crayon/json/added_tokens_text.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "crayon/json/json.h"

namespace crayon::json {
namespace {

constexpr size_t kIdRoom = 20;  // characters of a 64-bit number
constexpr size_t kBrackets = 8;

char* put(char* out, std::string_view text) {
    return std::copy(text.begin(), text.end(), out);
}

// The JSON around each value of an added token. The pretty form puts each value on its own line.
class Layout {
  public:
    explicit Layout(bool pretty) : end_(pretty ? "\n    }" : "}") {
        const std::string before = pretty ? "\n      \"" : "\"", after = pretty ? "\": " : "\":";
        id_ = std::string(pretty ? "\n    " : "") + "{" + before + "id" + after;
        content_ = "," + before + "content" + after;
        for (size_t i = 0; i < flags_.size(); ++i)
            for (const bool is_set : {false, true})
                flags_[i][is_set] =
                    "," + before + std::string(AddedTokenText::kFlags[i]) + after + (is_set ? "true" : "false");
    }

    size_t room_for(const AddedTokenText& token) const {
        size_t size = 1 + id_.size() + kIdRoom + content_.size() + 6 * token.content.size() + 2 + end_.size();
        for (const auto& flag : flags_) size += flag[false].size();  // "false" is the longer one
        return size;
    }

    char* write(char* out, const AddedTokenText& token) const {
        out = put(out, id_);
        out = std::to_chars(out, out + kIdRoom, token.id).ptr;
        out = write_quoted(put(out, content_), token.content);
        for (size_t i = 0; i < flags_.size(); ++i) out = put(out, flags_[i][token.flags[i]]);
        return put(out, end_);
    }

  private:
    std::string end_, id_, content_;
    std::array<std::array<std::string, 2>, AddedTokenText::kFlags.size()> flags_;
};

}  // namespace

size_t added_tokens_room(const std::vector<AddedTokenText>& tokens, bool pretty) {
    const Layout layout(pretty);
    size_t room = kBrackets;
    for (const AddedTokenText& token : tokens) room += layout.room_for(token);
    return room;
}

char* write_added_tokens(char* out, const std::vector<AddedTokenText>& tokens, bool pretty) {
    if (tokens.empty()) return put(out, "[]");
    const Layout layout(pretty);
    char separator = '[';
    for (const AddedTokenText& token : tokens) {
        *out++ = separator;
        separator = ',';
        out = layout.write(out, token);
    }
    return put(out, pretty ? "\n  ]" : "]");
}

}  // namespace crayon::json
