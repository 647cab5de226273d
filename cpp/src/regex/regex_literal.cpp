// The bytes of strings, and a search for a string in linear time (Knuth, Morris and Pratt).
#include <cstring>

#include "regex/regex_program.h"

namespace crayon::regex {

void append_utf8(uint32_t c, std::string* out) {
    if (c < 0x80) {
        *out += char(c);
        return;
    }
    if (c < 0x800) {
        *out += char(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *out += char(0xE0 | c >> 12);
        } else {
            *out += char(0xF0 | c >> 18);
            *out += char(0x80 | (c >> 12 & 0x3F));
        }
        *out += char(0x80 | (c >> 6 & 0x3F));
    }
    *out += char(0x80 | (c & 0x3F));
}

std::vector<uint32_t> failure_table(std::string_view word) {
    std::vector<uint32_t> table(word.size() + 1, 0);
    for (size_t i = 1, k = 0; i < word.size(); ++i) {
        while (k > 0 && word[i] != word[k]) k = table[k];
        if (word[i] == word[k]) ++k;
        table[i + 1] = uint32_t(k);
    }
    return table;
}

bool find_literal(std::string_view word, const std::vector<uint32_t>& failure, Bytes text, size_t from,
                  Regex::Match* match) {
    size_t matched = 0;
    for (size_t i = from; i < text.size; ++i) {
        if (matched == 0) {
            const void* next = std::memchr(text.data + i, uint8_t(word[0]), text.size - i);
            if (next == nullptr) return false;
            i = size_t(static_cast<const uint8_t*>(next) - text.data);
        }
        while (matched > 0 && uint8_t(word[matched]) != text[i]) matched = failure[matched];
        if (uint8_t(word[matched]) == text[i]) ++matched;
        if (matched == word.size()) {
            *match = {i + 1 - matched, i + 1};
            return true;
        }
    }
    return false;
}

}  // namespace crayon::regex
