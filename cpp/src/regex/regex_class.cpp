// Character classes and the escapes for characters, in Oniguruma's own syntax.
#include <algorithm>
#include <optional>

#include "regex/regex_syntax.h"

namespace crayon::regex {

namespace {

constexpr uint32_t kFirstRawByte = 0x80;  // from here on \x80 is a byte of a character, not a character
constexpr size_t kMaxClassDepth = 100;

int hex_value(char32_t c) {
    if (c >= U'0' && c <= U'9') return int(c - U'0');
    if (c >= U'a' && c <= U'f') return int(c - U'a') + 10;
    if (c >= U'A' && c <= U'F') return int(c - U'A') + 10;
    return -1;
}

// Reads at most `digits` hexadecimal digits. Returns their number.
size_t read_hex(Reader& r, size_t digits, uint32_t* value) {
    size_t count = 0;
    *value = 0;
    while (count < digits && !r.done() && hex_value(r.chars[r.at]) >= 0) {
        *value = *value << 4 | uint32_t(hex_value(r.chars[r.at++]));
        ++count;
    }
    return count;
}

uint32_t read_octal(Reader& r, size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits && !r.done() && r.chars[r.at] >= U'0' && r.chars[r.at] <= U'7'; ++i)
        value = value * 8 + uint32_t(r.chars[r.at++] - U'0');
    if (value >= kFirstRawByte) r.unsupported("an octal escape of a byte that is not ASCII");
    return value;
}

// Oniguruma's word characters include the numbers of Latin-1 that are not digits, except inside a class.
const char* word_name(bool in_class) {
    return in_class ? "[:word:]" : "\\w";
}

CharSet letter_set(char32_t letter, bool in_class) {
    const char* name = letter == U'd' ? "\\d" : letter == U'h' ? "\\h" : letter == U's' ? "\\s" : word_name(in_class);
    return *named_set(name);
}

CharSet read_property(Reader& r, bool in_class, bool negated) {
    ++r.at;  // {
    if (r.take(U'^')) negated = !negated;
    std::string name;
    while (!r.done() && r.chars[r.at] != U'}') {
        const char32_t c = r.chars[r.at++];
        if (c == U'(' || c == U')' || c == U'{' || c == U'|' || c >= 0x80)
            r.refuse("an invalid character property name");
        if (c == U' ' || c == U'-' || c == U'_') continue;
        name += char(c >= U'A' && c <= U'Z' ? c - U'A' + U'a' : c);
    }
    if (!r.take(U'}')) r.refuse("a character property name without an end");
    const bool special = !name.empty() && (name[0] == '[' || name[0] == '\\');
    const std::optional<CharSet> set = special ? std::nullopt : named_set(name == "word" ? word_name(in_class) : name);
    if (!set) r.unsupported("the character property \"" + name + "\"");
    return negated ? set->complement() : *set;
}

uint32_t read_hex_escape(Reader& r) {
    uint32_t value = 0;
    if (r.take(U'{')) {
        const size_t digits = read_hex(r, 8, &value);
        if (digits == 0 || !r.take(U'}')) r.unsupported("this form of \\x{...}");
        if (value > 0x10FFFF) r.unsupported("a code point above U+10FFFF");
        return value;
    }
    if (read_hex(r, 2, &value) == 0) r.unsupported("\\x without digits");
    if (value >= kFirstRawByte) r.unsupported("\\x of a byte that is not ASCII");
    return value;
}

// Reads a bracket such as [:alpha:] from just after its "[:". Returns false for other text.
bool parse_posix(Reader& r, CharSet* set) {
    size_t end = r.at;
    while (end < r.chars.size() && r.chars[end] != U']' && r.chars[end] != U'\\') ++end;
    if (end >= r.chars.size()) return false;
    if (r.chars[end] == U'\\') r.unsupported("a backslash behind [:");
    if (end == r.at || r.chars[end - 1] != U':') return false;
    size_t begin = r.at;
    const bool negated = r.chars[begin] == U'^';
    if (negated) ++begin;
    if (begin + 1 > end - 1) r.refuse("an invalid POSIX bracket");
    std::string name = "[:";
    for (size_t i = begin; i + 1 < end; ++i) name += r.chars[i] < 0x80 ? char(r.chars[i]) : '?';
    const std::optional<CharSet> found = named_set(name + ":]");
    if (!found) r.refuse("an invalid POSIX bracket " + name + ":]");
    r.at = end + 1;
    *set = negated ? found->complement() : *found;
    return true;
}

// Reads one class. A '-' depends on the text before it, as in Oniguruma.
class ClassParser {
  public:
    ClassParser(Reader& reader, size_t depth) : r_(reader), depth_(depth) {}

    ClassSet run() {
        if (depth_ > kMaxClassDepth) r_.unsupported("classes nested too deeply");
        ClassSet out;
        out.negated = r_.take(U'^');
        if (r_.sees(U']')) {
            if (!closes_later()) r_.refuse("an empty character class");
            ++r_.at;
            add_char(U']');
        }
        while (!r_.take(U']')) {
            if (r_.done()) r_.refuse("a character class without an end");
            step();
        }
        finish_operand();
        out.listed = std::move(*intersection_);
        return out;
    }

  private:
    enum class State { start, value, range, complete };

    bool closes_later() const {
        for (size_t i = r_.at + 1; i < r_.chars.size(); ++i) {
            if (r_.chars[i] == U'\\')
                ++i;
            else if (r_.chars[i] == U']')
                return true;
        }
        return false;
    }

    void step() {
        CharSet set;
        uint32_t c = 0;
        if (r_.take(U'-')) {
            minus();
        } else if (r_.sees(U'&', U'&')) {
            r_.at += 2;
            finish_operand();
            state_ = State::start;
        } else if (r_.take(U'[')) {
            if (r_.sees(U':')) {
                ++r_.at;
                if (parse_posix(r_, &set)) {
                    add_set(set);
                    return;
                }
                --r_.at;
            }
            if (state_ == State::range) r_.unsupported("a range that ends with a class");
            flush();
            add_ranges(ClassParser(r_, depth_ + 1).run().set());
            state_ = State::complete;
        } else if (r_.take(U'\\')) {
            if (r_.done()) r_.refuse("a backslash at its end");
            if (parse_set_escape(r_, true, &set)) {
                add_set(set);
            } else {
                if (!parse_char_escape(r_, true, &c)) r_.unsupported("this escape in a character class");
                add_char(c);
            }
        } else {
            add_char(r_.chars[r_.at++]);
        }
    }

    void minus() {
        const bool last = r_.sees(U']') || r_.sees(U'&', U'&');
        if (state_ == State::value && !last) {
            if (value_is_set_) r_.refuse("a range that begins with a class");
            state_ = State::range;
        } else {
            add_char(U'-');
        }
    }

    void flush() {
        if (state_ == State::value && !value_is_set_) ranges_.push_back({value_, value_});
    }

    void add_char(uint32_t c) {
        if (state_ == State::range) {
            if (value_ > c) r_.refuse("an empty range in a character class");
            ranges_.push_back({value_, c});
            state_ = State::complete;
            return;
        }
        flush();
        value_ = c;
        value_is_set_ = false;
        state_ = State::value;
    }

    void add_set(const CharSet& set) {
        if (state_ == State::range) r_.refuse("a range that ends with a class");
        flush();
        add_ranges(set);
        value_is_set_ = true;
        state_ = State::value;
    }

    void add_ranges(const CharSet& set) { ranges_.insert(ranges_.end(), set.ranges().begin(), set.ranges().end()); }

    // Intersects the ranges since the last "&&" with the earlier operands. Call it at each "&&" and at the end of the
    // class.
    void finish_operand() {
        flush();
        CharSet operand = CharSet::normalized(std::move(ranges_));
        ranges_.clear();
        intersection_ = intersection_ ? intersection_->intersected(operand) : std::move(operand);
    }

    Reader& r_;
    size_t depth_;
    State state_ = State::start;
    uint32_t value_ = 0;
    bool value_is_set_ = false;
    std::vector<CharSet::Range> ranges_;
    std::optional<CharSet> intersection_;
};

}  // namespace

ClassSet parse_class(Reader& reader) {
    return ClassParser(reader, 1).run();
}

bool parse_set_escape(Reader& r, bool in_class, CharSet* set) {
    const char32_t c = r.chars[r.at];
    switch (c) {
        case U'd':
        case U'h':
        case U's':
        case U'w':
            *set = letter_set(c, in_class);
            break;
        case U'D':
        case U'H':
        case U'S':
        case U'W':
            *set = letter_set(c - U'A' + U'a', in_class).complement();
            break;
        case U'p':
        case U'P':
            if (r.at + 1 >= r.chars.size() || r.chars[r.at + 1] != U'{') return false;
            ++r.at;
            *set = read_property(r, in_class, c == U'P');
            return true;
        default:
            return false;
    }
    ++r.at;
    return true;
}

bool parse_char_escape(Reader& r, bool in_class, uint32_t* code_point) {
    const char32_t c = r.chars[r.at];
    static constexpr std::u32string_view kControls = U"ntrfvae";
    static constexpr char32_t kControlValues[] = U"\n\t\r\f\v\a\x1B";
    if (const size_t i = kControls.find(c); i != std::u32string_view::npos) {
        *code_point = uint32_t(kControlValues[i]);
        ++r.at;
        return true;
    }
    if (c == U'x') {
        ++r.at;
        *code_point = read_hex_escape(r);
    } else if (c == U'u') {
        ++r.at;
        if (read_hex(r, 4, code_point) != 4) r.refuse("\\u without four hexadecimal digits");
    } else if (c == U'0' || (in_class && c >= U'1' && c <= U'7')) {
        *code_point = read_octal(r, 3);
    } else if (c == U'b' && in_class) {
        ++r.at;
        *code_point = 0x08;
    } else if ((c >= U'1' && c <= U'9') || c == U'c' || c == U'C' || c == U'M' || c == U'o') {
        return false;
    } else {
        ++r.at;
        *code_point = c;
        return true;
    }
    if (!in_class && *code_point >= 0xD800 && *code_point < 0xE000) r.unsupported("a surrogate");
    return true;
}

}  // namespace crayon::regex
