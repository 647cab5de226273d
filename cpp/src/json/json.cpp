#include "crayon/json/json.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>
#if !defined(__cpp_lib_to_chars)
#include <locale>
#endif

#include "crayon/support/error.h"
#include "json/json_number.h"
#include "support/bits.h"

namespace crayon::json {

namespace {

constexpr int max_depth = 127;  // serde_json's limit; it also bounds the parser's recursion

const char* type_name(Value::Type type) {
    constexpr const char* names[] = {"null",     "a boolean", "an integer", "an integer of 2^63 or more",
                                     "a number", "a string",  "an array",   "an object"};
    return names[size_t(type)];
}

// Escapes of one character: \ and one of `letters` is the character at the same index of `escaped`.
constexpr std::string_view letters = "\"\\/bfnrt", escaped = "\"\\/\b\f\n\r\t";

[[noreturn]] void wrong_type(const char* what, Value::Type wanted, Value::Type got) {
    throw Error(ErrorKind::vocabulary, std::string(what) + " must be " + type_name(wanted) + ", not " + type_name(got));
}

inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// True if one of the 8 bytes at `p` ends a run of plain ASCII string content: a control, '"', '\\' or non-ASCII.
inline bool any_special(const char* p) {
    constexpr uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t v;
    std::memcpy(&v, p, 8);
    const uint64_t quote = v ^ (ones * '"'), backslash = v ^ (ones * '\\');
    // Each term sets the high bit of a byte that is < 0x20, or zero. False positives above a true one are harmless.
    return ((v - ones * 0x20) | (quote - ones) | (backslash - ones) | v) & highs;
}

// Returns the length of the valid non-ASCII UTF-8 sequence at `p`, or 0 if it is invalid (Unicode 15, table 3-7).
size_t utf8_length(const char* p, const char* end) {
    const auto byte = [&](size_t i) { return p + i < end ? uint8_t(p[i]) : uint8_t(0); };
    const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const uint8_t lead = byte(0), second = byte(1);
    if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        const bool overlong = lead == 0xE0 && second < 0xA0, surrogate = lead == 0xED && second >= 0xA0;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const bool overlong = lead == 0xF0 && second < 0x90, beyond = lead == 0xF4 && second >= 0x90;
        return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

void append_utf8(std::string& out, uint32_t c) {
    if (c < 0x80) {
        out += char(c);
    } else if (c < 0x800) {
        out += char(0xC0 | c >> 6);
        out += char(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out += char(0xE0 | c >> 12);
        out += char(0x80 | (c >> 6 & 0x3F));
        out += char(0x80 | (c & 0x3F));
    } else {
        out += char(0xF0 | c >> 18);
        out += char(0x80 | (c >> 12 & 0x3F));
        out += char(0x80 | (c >> 6 & 0x3F));
        out += char(0x80 | (c & 0x3F));
    }
}

}  // namespace

// Returns how many doubles `to` is farther from zero than `from`, which has the same sign.
int32_t ulps_between(double from, double to) {
    uint64_t bits[2];
    std::memcpy(&bits[0], &from, sizeof from);
    std::memcpy(&bits[1], &to, sizeof to);
    const int64_t ulps = int64_t(bits[1]) - int64_t(bits[0]);
    return ulps >= -INT32_MAX && ulps <= INT32_MAX ? int32_t(ulps) : Value::kFar;
}

class Parser {
  public:
    Parser(std::string_view text, Numbers numbers)
        : begin_(text.data()), p_(begin_), end_(begin_ + text.size()), numbers_(numbers) {}

    Document run() {
        if (uint64_t(end_ - begin_) > UINT32_MAX) fail("the text is longer than 4 GiB");
        if (size_t(end_ - p_) >= 3 && std::memcmp(p_, "\xEF\xBB\xBF", 3) == 0) fail("a byte order mark is not JSON");
        skip_space();
        document_.root = value(0);
        skip_space();
        if (p_ != end_) fail("unexpected text after the value");
        return std::move(document_);
    }

  private:
    [[noreturn]] void fail(const char* reason) const {
        fail_at(p_, p_ == end_ ? std::string("the text is cut short: ") + reason : reason);
    }

    // Columns count characters, as an editor does.
    [[noreturn]] void fail_at(const char* where, const std::string& reason) const {
        size_t line = 1, column = 1;
        for (const char* p = begin_; p < where; ++p) {
            if (*p == '\n') {
                ++line;
                column = 1;
            } else if ((uint8_t(*p) & 0xC0) != 0x80) {
                ++column;
            }
        }
        throw Error(ErrorKind::vocabulary, "invalid JSON at byte " + std::to_string(where - begin_) + " (line " +
                                               std::to_string(line) + ", column " + std::to_string(column) +
                                               "): " + reason);
    }

    void skip_space() {
        while (p_ < end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
    }

    bool take(char c) {
        if (p_ == end_ || *p_ != c) return false;
        ++p_;
        return true;
    }

    void literal(std::string_view word) {
        if (std::string_view(p_, size_t(end_ - p_)).substr(0, word.size()) != word) fail("expected a value");
        p_ += word.size();
    }

    Value value(int depth) {
        if (p_ == end_) fail("expected a value");
        Value result;
        switch (*p_) {
            case '{':
                return object(depth);
            case '[':
                return array(depth);
            case '"': {
                const std::string_view text = string();
                result.type_ = Value::Type::string;
                result.size_ = uint32_t(text.size());
                result.string_ = text.data();
                return result;
            }
            case 't':
            case 'f':
                result.type_ = Value::Type::boolean;
                result.boolean_ = *p_ == 't';
                literal(result.boolean_ ? "true" : "false");
                return result;
            case 'n':
                literal("null");
                return result;
            default:
                return number();
        }
    }

    // The elements of open arrays (and the members of open objects) share one stack. When an array is complete, its
    // elements move to the end of a vector with room for them, which never grows. One vector per merge would take
    // longer than reading a hundred thousand merges.
    template <typename T>
    static const T* moved(std::vector<T>* stack, size_t base, std::deque<std::vector<T>>* kept) {
        constexpr size_t kRoom = 4096;
        const size_t n = stack->size() - base;
        if (kept->empty() || kept->back().capacity() - kept->back().size() < n) {
            kept->emplace_back();
            kept->back().reserve(std::max(n, kRoom));
        }
        std::vector<T>& last = kept->back();
        last.insert(last.end(), stack->begin() + ptrdiff_t(base), stack->end());
        stack->erase(stack->begin() + ptrdiff_t(base), stack->end());
        return last.data() + last.size() - n;
    }

    Value array(int depth) {
        if (depth == max_depth) fail("nested too deeply: more than 127 levels");
        ++p_;
        const size_t base = values_.size();
        skip_space();
        if (!take(']')) {
            for (;;) {
                values_.push_back(value(depth + 1));
                skip_space();
                if (take(']')) break;
                if (!take(',')) fail("expected ',' or ']'");
                skip_space();
            }
        }
        Value result;
        result.type_ = Value::Type::array;
        result.size_ = uint32_t(values_.size() - base);
        result.array_ = moved(&values_, base, &document_.arrays);
        return result;
    }

    Value object(int depth) {
        if (depth == max_depth) fail("nested too deeply: more than 127 levels");
        ++p_;
        const size_t base = members_.size();
        skip_space();
        if (!take('}')) {
            for (;;) {
                if (p_ == end_ || *p_ != '"') fail("expected a member's name");
                const std::string_view name = string();
                skip_space();
                if (!take(':')) fail("expected ':'");
                skip_space();
                const Value member = value(depth + 1);
                members_.emplace_back(name, member);
                skip_space();
                if (take('}')) break;
                if (!take(',')) fail("expected ',' or '}'");
                skip_space();
            }
        }
        Value result;
        result.type_ = Value::Type::object;
        result.size_ = uint32_t(members_.size() - base);
        result.object_ = moved(&members_, base, &document_.objects);
        return result;
    }

    // Advances over the content of a string to the next quote or backslash.
    void skip_plain() {
        for (;;) {
            while (end_ - p_ >= 8 && !any_special(p_)) p_ += 8;
            if (p_ == end_) fail("a string has no end");
            const uint8_t c = uint8_t(*p_);
            if (c == '"' || c == '\\') return;
            if (c < 0x20) fail("a control character in a string must be escaped");
            if (c < 0x80) {
                ++p_;
            } else {
                const size_t length = utf8_length(p_, end_);
                if (length == 0) {
                    const size_t wanted = c < 0xC2 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
                    fail(size_t(end_ - p_) < wanted ? "the text is cut short: within a character" : "invalid UTF-8");
                }
                p_ += length;
            }
        }
    }

    std::string_view string() {
        const char* run = ++p_;
        skip_plain();
        if (*p_ == '"') return {run, size_t(p_++ - run)};
        std::string text;
        for (;;) {
            text.append(run, p_);
            if (*p_++ == '"') break;
            escape(text);
            run = p_;
            skip_plain();
        }
        document_.unescaped.push_back(std::move(text));
        return document_.unescaped.back();
    }

    // Reads an escape after its backslash.
    void escape(std::string& text) {
        const char* start = p_ - 1;
        if (p_ == end_) fail("a string has no end");
        const char letter = *p_++;
        if (const size_t i = letters.find(letter); i != std::string_view::npos) {
            text += escaped[i];
            return;
        }
        if (letter != 'u') fail_at(start, "no such escape");
        uint32_t c = hex4(start);
        if (c >= 0xD800 && c <= 0xDFFF) {
            uint32_t low = 0;
            if (c <= 0xDBFF && end_ - p_ >= 2 && p_[0] == '\\' && p_[1] == 'u') {
                const char* second = p_;
                p_ += 2;
                low = hex4(second);
            }
            if (low < 0xDC00 || low > 0xDFFF) fail_at(start, "a surrogate without its pair");
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        }
        append_utf8(text, c);
    }

    uint32_t hex4(const char* start) {
        uint32_t c = 0;
        for (int i = 0; i < 4; ++i, ++p_) {
            const char d = p_ < end_ ? *p_ : '\0';
            const char lower = char(d | 0x20);
            if (!is_digit(d) && (lower < 'a' || lower > 'f')) fail_at(start, "\\u needs four hexadecimal digits");
            c = c << 4 | uint32_t(is_digit(d) ? d - '0' : lower - 'a' + 10);
        }
        return c;
    }

    void digits() {
        if (p_ == end_ || !is_digit(*p_)) fail("expected a digit");
        while (p_ < end_ && is_digit(*p_)) ++p_;
    }

    // Reads a whole number of less than 8 digits; nearly all numbers are such. Returns false for other numbers, and
    // does not advance. Finds and combines the digits without a branch for each, because their number is unpredictable.
    bool take_small_number(Value* result) {
        constexpr uint64_t ones = 0x0101010101010101u;
        if (end_ - p_ < 8) return false;
        uint64_t digits;
        std::memcpy(&digits, p_, 8);
        digits ^= ones * '0';  // bytes of at most 9 are digits
        const uint64_t others = ((digits + ones * 6) | digits) & (ones * 0xF0);
        if (others == 0) return false;
        const uint32_t n = lowest_set_bit(others) / 8;
        const char next = p_[n];
        if (n == 0 || (n > 1 && *p_ == '0') || next == '.' || next == 'e' || next == 'E') return false;
        digits <<= 64 - 8 * n;  // zeros first: the last digit is the highest byte
        digits = (digits * 10 + (digits >> 8)) & 0x00FF00FF00FF00FFu;
        digits = (digits * 100 + (digits >> 16)) & 0x0000FFFF0000FFFFu;
        digits = (digits * 10000 + (digits >> 32)) & 0x00000000FFFFFFFFu;
        p_ += n;
        result->type_ = Value::Type::integer;
        result->integer_ = int64_t(digits);
        return true;
    }

    Value number() {
        Value result;
        if (take_small_number(&result)) return result;
        const char* start = p_;
        const bool negative = take('-');
        if (!negative && !is_digit(*p_)) fail("expected a value");
        bool integral = true;
        if (take('0')) {
            if (p_ < end_ && is_digit(*p_)) fail("a number with a leading zero");
        } else {
            digits();
        }
        if (take('.')) {
            integral = false;
            digits();
        }
        if (take('e') || take('E')) {
            integral = false;
            if (!take('+')) take('-');
            digits();
        }
        if (integral && !(negative && start[1] == '0')) {  // -0 is a double
            result.type_ = Value::Type::integer;
            if (std::from_chars(start, p_, result.integer_).ec == std::errc()) return result;
            result.type_ = Value::Type::large;
            if (std::from_chars(start, p_, result.large_).ec == std::errc()) return result;
        }
        result.type_ = Value::Type::number;
        double nearest;
        const bool has_nearest = read_nearest_number(start, p_, &nearest);
        if (numbers_ == Numbers::nearest ? !has_nearest : !read_serde_number(start, p_, &result.number_))
            fail_at(start, "a number out of range");
        if (numbers_ == Numbers::nearest)
            result.number_ = nearest;
        else
            result.size_ = uint32_t(has_nearest ? ulps_between(result.number_, nearest) : Value::kFar);
        return result;
    }

    const char *begin_, *p_, *end_;
    const Numbers numbers_;
    Document document_;
    std::vector<Value> values_;
    std::vector<Value::Member> members_;
};

bool Value::as_bool(const char* what) const {
    if (type_ != Type::boolean) wrong_type(what, Type::boolean, type_);
    return boolean_;
}

int64_t Value::as_integer(const char* what) const {
    if (type_ != Type::integer) wrong_type(what, Type::integer, type_);
    return integer_;
}

uint64_t Value::as_large(const char* what) const {
    if (type_ != Type::large) wrong_type(what, Type::large, type_);
    return large_;
}

double Value::as_number(const char* what) const {
    if (type_ == Type::integer) return double(integer_);
    if (type_ == Type::large) return double(large_);
    if (type_ != Type::number) wrong_type(what, Type::number, type_);
    return number_;
}

int32_t Value::ulps_to_nearest() const {
    return type_ == Type::number ? int32_t(size_) : 0;
}

std::string_view Value::as_string(const char* what) const {
    if (type_ != Type::string) wrong_type(what, Type::string, type_);
    return {string_, size_};
}

Items<Value> Value::as_array(const char* what) const {
    if (type_ != Type::array) wrong_type(what, Type::array, type_);
    return {array_, size_};
}

Items<Value::Member> Value::as_object(const char* what) const {
    if (type_ != Type::object) wrong_type(what, Type::object, type_);
    return {object_, size_};
}

const Value* Value::find(std::string_view name) const {
    if (type_ != Type::object) return nullptr;
    for (const Member* member = object_ + size_; member != object_;)
        if ((--member)->first == name) return &member->second;
    return nullptr;
}

Document parse(std::string_view text, Numbers numbers) {
    return Parser(text, numbers).run();
}

char* write_quoted(char* out, std::string_view text) {
    constexpr char hex[] = "0123456789abcdef";
    *out++ = '"';
    for (const char c : text) {
        if (uint8_t(c) >= 0x20 && c != '"' && c != '\\') {
            *out++ = c;
            continue;
        }
        *out++ = '\\';
        if (const size_t i = escaped.find(c); i != std::string_view::npos) {
            *out++ = letters[i];
        } else {
            for (const char part : {'u', '0', '0', hex[uint8_t(c) >> 4], hex[c & 15]}) *out++ = part;
        }
    }
    *out++ = '"';
    return out;
}

void append_quoted(std::string& out, std::string_view text) {
    const size_t before = out.size();
    out.resize(before + 6 * text.size() + 2);
    out.resize(size_t(write_quoted(out.data() + before, text) - out.data()));
}

namespace {

void append_number(std::string& out, double value) {
#if defined(__cpp_lib_to_chars)
    char buffer[32];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
    std::string text(buffer, result.ptr);
#else
    std::ostringstream stream;
    stream.imbue(std::locale::classic());
    stream.precision(17);
    stream << value;
    std::string text = stream.str();
#endif
    if (text.find_first_of(".e") == std::string::npos) text += ".0";  // still a double when read again
    out += text;
}

void append_value(std::string& out, const Value& value) {
    switch (value.type()) {
        case Value::Type::null:
            out += "null";
            break;
        case Value::Type::boolean:
            out += value.as_bool("") ? "true" : "false";
            break;
        case Value::Type::integer:
            out += std::to_string(value.as_integer(""));
            break;
        case Value::Type::large:
            out += std::to_string(value.as_large(""));
            break;
        case Value::Type::number:
            append_number(out, value.as_number(""));
            break;
        case Value::Type::string:
            append_quoted(out, value.as_string(""));
            break;
        case Value::Type::array: {
            char separator = '[';
            for (const Value& element : value.as_array("")) {
                out += separator;
                append_value(out, element);
                separator = ',';
            }
            out += separator == '[' ? "[]" : "]";
            break;
        }
        case Value::Type::object: {
            char separator = '{';
            for (const auto& [name, member] : value.as_object("")) {
                out += separator;
                append_quoted(out, name);
                out += ':';
                append_value(out, member);
                separator = ',';
            }
            out += separator == '{' ? "{}" : "}";
            break;
        }
    }
}

}  // namespace

std::string quote(std::string_view text) {
    std::string out;
    append_quoted(out, text);
    return out;
}

std::string serialize(const Value& value) {
    std::string out;
    append_value(out, value);
    return out;
}

}  // namespace crayon::json
