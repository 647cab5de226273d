#include "decoders/decoder_text.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "crayon/support/bytes.h"
#include "crayon/unicode/unicode.h"

namespace crayon {

size_t character_size(const std::string& text, size_t at) {
    const Bytes bytes(text);
    return decode_utf8(bytes.begin() + at, bytes.end()).size;
}

// Rust's str::replace: an empty `what` matches before and after every character.
void replace_all(std::string* text, const std::string& what, const std::string& by) {
    size_t at = 0, found = what.empty() ? 0 : text->find(what);
    if (found == std::string::npos) return;
    if (!what.empty() && by.size() <= what.size()) {
        // In place: the write position never passes the read position.
        char* const data = text->data();
        size_t to = found;
        while (found != std::string::npos) {
            to += by.copy(data + to, by.size());
            at = found + what.size();
            found = text->find(what, at);
            const size_t kept = std::min(found, text->size()) - at;
            std::memmove(data + to, data + at, kept);
            to += kept;
        }
        text->resize(to);
        return;
    }
    std::string out;
    if (what.empty()) {
        while (at < text->size()) {
            const size_t size = character_size(*text, at);
            out.append(by).append(*text, at, size);
            at += size;
        }
        out.append(by);
    } else {
        for (; found != std::string::npos; found = text->find(what, at)) {
            out.append(*text, at, found - at).append(by);
            at = found + what.size();
        }
        out.append(*text, at, std::string::npos);
    }
    *text = std::move(out);
}

size_t count_of(const std::string& what, const std::string& text) {
    size_t count = 0;
    if (what.empty()) {
        for (size_t at = 0; at < text.size(); at += character_size(text, at)) ++count;
        return count + 1;
    }
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
    return count;
}

// Removes the spaces that English text gets when its punctuation is split off.
void clean_up(std::string* text) {
    static const std::pair<std::string, std::string> steps[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    if (text->find(' ') == std::string::npos) return;
    for (const auto& [what, by] : steps) replace_all(text, what, by);
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Returns the byte that a token such as <0x41> names, or -1. Like Rust's parser, accepts a plus sign.
int byte_of(std::string_view token) {
    if (token.size() != 6 || token.compare(0, 3, "<0x") != 0 || token[5] != '>') return -1;
    const int high = token[3] == '+' ? 0 : hex_value(token[3]), low = hex_value(token[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace crayon
