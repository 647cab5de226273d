// tiktoken's rank files: read, written, and as the vocabulary of a tokenizer.json.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/bpe/rank_merges.h"
#include "crayon/support/error.h"
#include "json/model_writer.h"
#include "unicode/byte_level.h"

namespace py = pybind11;

namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int8_t kNoDigit = -1;

std::array<int8_t, 256> base64_values() {
    std::array<int8_t, 256> values;
    values.fill(kNoDigit);
    for (size_t i = 0; i < kBase64.size(); ++i) values[uint8_t(kBase64[i])] = int8_t(i);
    return values;
}

// Decodes a text of whole groups of four, the last one padded; false for any other.
bool decode_base64(std::string_view text, std::string* out) {
    static const std::array<int8_t, 256> values = base64_values();
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

void append_base64(std::string_view bytes, std::string* out) {
    for (size_t at = 0; at < bytes.size(); at += 3) {
        const size_t n = std::min<size_t>(3, bytes.size() - at);
        uint32_t group = 0;
        for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < n ? uint8_t(bytes[at + i]) : 0);
        for (size_t i = 0; i < 4; ++i) *out += i <= n ? kBase64[group >> (18 - 6 * i) & 63] : '=';
    }
}

// The tokens and ranks of lines that are as `rank_file` writes them, each token once; None when one is not.
py::object read_rank_file(const py::bytes& data) {
    py::dict ranks;
    std::string token;
    std::string_view rest = data;
    size_t lines = 0;
    for (; !rest.empty(); ++lines) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const size_t space = line.find(' ');
        if (space == std::string_view::npos || !decode_base64(line.substr(0, space), &token)) return py::none();
        const std::string_view digits = line.substr(space + 1);
        int64_t rank = 0;
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
        if (error != std::errc() || stop != digits.data() + digits.size() || digits[0] == '-') return py::none();
        ranks[py::bytes(token)] = rank;
    }
    if (lines == 0 || ranks.size() != lines) return py::none();
    return std::move(ranks);
}

// Bytes objects and the numbers that belong to them; false for anything else.
struct Ranked {
    std::vector<std::string_view> tokens;
    std::vector<int64_t> ids;

    bool take(const py::list& token_list, const py::list& id_list) {
        if (token_list.size() != id_list.size()) return false;
        tokens.reserve(token_list.size());
        ids.reserve(id_list.size());
        for (size_t i = 0; i < token_list.size(); ++i) {
            PyObject* const token = PyList_GET_ITEM(token_list.ptr(), Py_ssize_t(i));
            PyObject* const id = PyList_GET_ITEM(id_list.ptr(), Py_ssize_t(i));
            int overflow = 0;
            if (!PyBytes_CheckExact(token) || !PyLong_CheckExact(id)) return false;
            ids.push_back(PyLong_AsLongLongAndOverflow(id, &overflow));
            if (overflow != 0) return false;
            tokens.emplace_back(PyBytes_AS_STRING(token), size_t(PyBytes_GET_SIZE(token)));
        }
        return true;
    }
};

py::object rank_file(const py::list& tokens, const py::list& ranks) {
    Ranked ranked;
    if (!ranked.take(tokens, ranks)) return py::none();
    std::string lines;
    for (size_t i = 0; i < ranked.tokens.size(); ++i) {
        append_base64(ranked.tokens[i], &lines);
        char digits[24];
        *digits = ' ';
        char* const end = std::to_chars(digits + 1, std::end(digits), ranked.ids[i]).ptr;
        lines.append(digits, size_t(end - digits)) += '\n';
    }
    return py::bytes(lines);
}

py::bytes vocabulary_of_ranks(const py::list& tokens, const py::list& ids, const py::dict& specials) {
    Ranked ranked;
    if (!ranked.take(tokens, ids)) throw py::type_error("tokens must be bytes, and ids ints of 64 bits");
    std::vector<std::pair<std::string, int64_t>> others;
    for (const auto& [content, id] : specials) others.emplace_back(content.cast<std::string>(), id.cast<int64_t>());
    const py::gil_scoped_release release;
    std::string text = "\"vocab\":";
    std::vector<std::string> spelled;
    spelled.reserve(ranked.tokens.size());
    for (const std::string_view token : ranked.tokens) spelled.push_back(crayon::to_byte_level(token));
    crayon::json::ModelWriter vocab(false, ranked.tokens.size() * 24);
    vocab.begin('{');
    auto other = others.cbegin();
    for (size_t i = 0; i < spelled.size(); ++i) {
        for (; other != others.cend() && other->second < ranked.ids[i]; ++other)
            vocab.token(other->first, other->second);
        vocab.token(spelled[i], ranked.ids[i]);
    }
    for (; other != others.cend(); ++other) vocab.token(other->first, other->second);
    text += vocab.end('}');
    crayon::json::ModelWriter merges(false, ranked.tokens.size() * 24);
    merges.begin('[');
    for (const crayon::RankMerge& merge : crayon::merges_from_ranks(ranked.tokens))
        merges.merge(spelled[merge.left], spelled[merge.right]);
    text.append(",\"merges\":").append(merges.end(']'));
    const py::gil_scoped_acquire acquire;
    return text;
}

}  // namespace

void bind_ranks(py::module_& m) {
    m.def("read_rank_file", &read_rank_file, py::arg("data"),
          "The tokens of a rank file and their ranks; None unless it is as `rank_file` writes one.");
    m.def("rank_file", &rank_file, py::arg("tokens"), py::arg("ranks"),
          "A rank file; None for what are no bytes and ints of 64 bits.");
    m.def("vocabulary_of_ranks", &vocabulary_of_ranks, py::arg("tokens"), py::arg("ids"), py::arg("specials"),
          "The members \"vocab\" and \"merges\" of a tokenizer.json, of tokens in the order of their ids, and special "
          "tokens in that of theirs.");
}
