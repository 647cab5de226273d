#include "crayon/formats/rank_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <system_error>

#include "crayon/formats/rank_merges.h"
#include "json/model_writer.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int8_t kNoDigit = -1;

std::array<int8_t, 256> digit_values() {
    std::array<int8_t, 256> values;
    values.fill(kNoDigit);
    for (size_t i = 0; i < kDigits.size(); ++i) values[uint8_t(kDigits[i])] = int8_t(i);
    return values;
}

// Decodes base64 in groups of four characters, the last one padded. Returns false for other texts.
bool decode_base64(std::string_view text, std::string* out) {
    static const std::array<int8_t, 256> values = digit_values();
    out->clear();
    if (text.empty() || text.size() % 4 != 0) return false;
    const size_t padding = text.substr(text.size() - 2) == "==" ? 2 : text.back() == '=' ? 1 : 0;
    for (size_t at = 0; at < text.size(); at += 4) {
        const size_t kept = at + 4 == text.size() ? 4 - padding : 4;
        uint32_t group = 0;
        for (size_t i = 0; i < 4; ++i) {
            const int8_t value = i < kept ? values[uint8_t(text[at + i])] : int8_t(0);
            if (value == kNoDigit) return false;
            group = group << 6 | uint32_t(value);
        }
        for (size_t i = 0; i + 1 < kept; ++i) *out += char(group >> (16 - 8 * i) & 0xFF);
    }
    return true;
}

}  // namespace

bool take_rank_line(std::string_view* rest, std::string* token, int64_t* rank) {
    const size_t end = std::min(rest->find('\n'), rest->size());
    const std::string_view line = rest->substr(0, end);
    rest->remove_prefix(std::min(end + 1, rest->size()));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || !decode_base64(line.substr(0, space), token)) return false;
    const std::string_view digits = line.substr(space + 1);
    if (digits.empty() || digits[0] == '-') return false;
    const char* const stop = digits.data() + digits.size();
    const auto [parsed, error] = std::from_chars(digits.data(), stop, *rank);
    return error == std::errc() && parsed == stop;
}

void append_rank_line(std::string_view token, int64_t rank, std::string* lines) {
    for (size_t at = 0; at < token.size(); at += 3) {
        const size_t n = std::min<size_t>(3, token.size() - at);
        uint32_t group = 0;
        for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < n ? uint8_t(token[at + i]) : 0);
        for (size_t i = 0; i < 4; ++i) *lines += i <= n ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
    char digits[24];
    *digits = ' ';
    char* const end = std::to_chars(digits + 1, std::end(digits), rank).ptr;
    lines->append(digits, size_t(end - digits)) += '\n';
}

std::string vocabulary_of_ranks(const std::vector<std::string_view>& tokens, const std::vector<int64_t>& ids,
                                const std::vector<std::pair<std::string, int64_t>>& specials) {
    std::vector<std::string> spelled;
    spelled.reserve(tokens.size());
    for (const std::string_view token : tokens) spelled.push_back(to_byte_level(token));
    json::ModelWriter vocab(false, tokens.size() * 24);
    vocab.begin('{');
    auto special = specials.cbegin();
    for (size_t i = 0; i < spelled.size(); ++i) {
        for (; special != specials.cend() && special->second < ids[i]; ++special)
            vocab.token(special->first, special->second);
        vocab.token(spelled[i], ids[i]);
    }
    for (; special != specials.cend(); ++special) vocab.token(special->first, special->second);
    json::ModelWriter merges(false, tokens.size() * 24);
    merges.begin('[');
    for (const RankMerge& merge : merges_from_ranks(tokens)) merges.merge(spelled[merge.left], spelled[merge.right]);
    std::string text = "\"vocab\":";
    return text.append(vocab.end('}')).append(",\"merges\":").append(merges.end(']'));
}

}  // namespace crayon
