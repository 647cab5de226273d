#include "crayon/json/scores.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#if !defined(__cpp_lib_to_chars)
#include <locale>
#include <sstream>
#endif

#include "crayon/json/json.h"
#include "json/json_number.h"

namespace crayon::json {
namespace {

// All powers of ten that are exact doubles.
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Writes digits as D.DDDe±X or De±X. Returns the number of bytes.
size_t scientific(char* out, double score) {
#if defined(__cpp_lib_to_chars)
    return size_t(std::to_chars(out, out + kScoreRoom, score, std::chars_format::scientific).ptr - out);
#else
    std::ostringstream stream;  // all digits, needed or not
    stream.imbue(std::locale::classic());
    stream.precision(16);
    stream << std::scientific << score;
    const std::string text = stream.str();
    std::memcpy(out, text.data(), text.size());
    return text.size();
#endif
}

// Appends a Unigram model's "vocab", with scores spelled by spell_score. Returns false unless `vocab` is a list of
// pieces with scores.
bool append_scores(std::string& out, const Value& vocab) {
    char separator = '[';
    for (const Value& entry : vocab.as_array("model.vocab")) {
        if (!entry.is_array()) return false;
        const Items<Value> two = entry.as_array("a piece");
        if (two.size() != 2 || !two[0].is_string() || two[1].is_string()) return false;
        out += separator;
        out += '[';
        append_quoted(out, two[0].as_string("a piece"));
        out += ',';
        out += spell_score(two[1].as_number("a score"));
        out += ']';
        separator = ',';
    }
    out += separator == '[' ? "[]" : "]";
    return true;
}

// Appends a copy of `object` in which member(name, value) appends each value. Returns false if a call returns false.
template <typename Member>
bool append_object(std::string& out, const Value& object, Member&& member) {
    char separator = '{';
    for (const auto& [name, value] : object.as_object("the tokenizer.json")) {
        out += separator;
        append_quoted(out, name);
        out += ':';
        if (!member(name, value)) return false;
        separator = ',';
    }
    out += separator == '{' ? "{}" : "}";
    return true;
}

double as_the_reference_reads(const char* begin, const char* end) {
    double score = 0;
    return read_serde_number(begin, end, &score) ? score : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

char* write_score(char* out, double score) {
#if defined(__cpp_lib_to_chars)
    const double magnitude = std::abs(score);
    if (magnitude >= 1e-4 && magnitude < 1e15) {  // surely without an exponent
        char* const end = std::to_chars(out, out + kScoreRoom, score, std::chars_format::fixed).ptr;
        return std::find(out, end, '.') != end ? end : std::copy_n(".0", 2, end);
    }
#endif
    char text[kScoreRoom];
    const size_t size = scientific(text, std::abs(score));
    if (std::signbit(score)) *out++ = '-';
    if (!std::isfinite(score)) return std::copy_n(text, size, out);
    const size_t e = size_t(std::find(text, text + size, 'e') - text);
    int exponent = 0;
    std::from_chars(text + e + (text[e + 1] == '+' ? 2 : 1), text + size, exponent);
    size_t n = e;
    if (n > 1) {  // removes the point
        std::memmove(text + 1, text + 2, e - 2);
        --n;
    }
    const int point = exponent + 1;  // number of digits before the point
    if (point > 16 || point < -4) {
        *out++ = text[0];
        if (n > 1) {
            *out++ = '.';
            out = std::copy_n(text + 1, n - 1, out);
        }
        *out++ = 'e';
        if (exponent > 0) *out++ = '+';
        return std::to_chars(out, out + 5, exponent).ptr;
    }
    if (point <= 0) {
        *out++ = '0';
        *out++ = '.';
        out = std::fill_n(out, -point, '0');
        return std::copy_n(text, n, out);
    }
    const size_t whole = std::min(size_t(point), n);
    out = std::copy_n(text, whole, out);
    out = std::fill_n(out, size_t(point) - whole, '0');
    *out++ = '.';
    if (whole == n) *out++ = '0';
    return std::copy_n(text + whole, n - whole, out);
}

std::string spell_score(double score) {
    char text[kScoreRoom];
    char* const end = write_score(text, score);
    std::string usual(text, end);
    if (!std::isfinite(score) || as_the_reference_reads(text, end) == score) return usual;
    constexpr double kMost = 18446744073709551616.0;  // 2^64
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (size_t power = 1; power < std::size(kPowers); ++power) {
        const double whole = std::abs(score) * kPowers[power];
        if (whole >= kMost) break;
        for (const double near :
             {std::nearbyint(whole), std::nextafter(whole, kInfinity), std::nextafter(whole, 0.0)}) {
            if (near != std::floor(near) || near >= kMost || near / kPowers[power] != std::abs(score)) continue;
            return (score < 0 ? "-" : "") + std::to_string(uint64_t(near)) + "e-" + std::to_string(power);
        }
    }
    return usual;
}

double settled_score(double score) {
    while (std::isfinite(score)) {
        const std::string text = spell_score(score);
        const double read = as_the_reference_reads(text.data(), text.data() + text.size());
        if (read == score || std::isnan(read)) break;
        score = read;
    }
    return score;
}

std::string with_exact_scores(std::string_view tokenizer_json) {
    std::string out(tokenizer_json);
    if (tokenizer_json.find("\"Unigram\"") == std::string_view::npos) return out;
    const Document document = parse(tokenizer_json, Numbers::nearest);
    const Value* const model = document.root.find("model");
    const Value* const vocab = model == nullptr ? nullptr : model->find("vocab");
    if (vocab == nullptr || !vocab->is_array()) return out;
    std::string exact;
    exact.reserve(tokenizer_json.size());
    const auto of_model = [&](std::string_view name, const Value& value) {
        if (name == "vocab" && value.is_array()) return append_scores(exact, value);
        exact += serialize(value);
        return true;
    };
    const auto of_root = [&](std::string_view name, const Value& value) {
        if (name == "model") return append_object(exact, value, of_model);
        exact += serialize(value);
        return true;
    };
    return append_object(exact, document.root, of_root) ? exact : out;
}

}  // namespace crayon::json
