// Validates one line of JSON, an object, and finds the strings of chosen members ("columns"). The unnamed namespace is
// explained in class_lookup.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "crayon/support/bytes.h"
#include "simd/window.h"

namespace crayon {

// The content of a string: unchanged up to its first escape, unescaped from there on.
struct JsonString {
    const uint8_t* begin;  // null: not found yet
    const uint8_t* plain_end;
    const uint8_t* rest;  // the text from the first escape on, in JsonLine::room
    size_t rest_size;
};

struct JsonLine {
    const uint8_t* begin;
    const uint8_t* end;
    const Bytes* columns;
    size_t n_columns;
    JsonString* strings;  // of the columns, in order
    uint8_t* room;        // for unescaped text: the line's size and kRoom more
    bool is_ascii;

    static constexpr size_t kRoom = 64;
};

namespace {

// The value of each byte as the letter of an escape (0 for other bytes), and as a hexadecimal digit (0xFF for other
// bytes).
struct JsonBytes {
    uint8_t escaped[256] = {}, digit[256] = {};

    constexpr JsonBytes() {
        for (int c = 0; c < 256; ++c)
            digit[c] = uint8_t(c >= '0' && c <= '9'   ? c - '0'
                               : c >= 'a' && c <= 'f' ? c - 'a' + 10
                               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                      : 0xFF);
        const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        for (int i = 0; i < 8; ++i) escaped[uint8_t(letters[i])] = uint8_t(values[i]);
    }
};
constexpr JsonBytes kJsonBytes;

// Finder::pass<copies>(p, end, &to, line) returns the first byte of a string that needs attention: '"', '\\' or a byte
// below 0x20; else `end`. It sets a flag of `line` if the bytes before the result are not all ASCII. If `copies`, it
// copies these bytes to `to`, and may write up to JsonLine::kRoom bytes more after them.
template <typename Finder>
class JsonLineParser {
  public:
    explicit JsonLineParser(JsonLine* line) : line_(*line), p_(line->begin), end_(line->end) {}

    bool run() {
        line_.is_ascii = true;
        for (size_t i = 0; i < line_.n_columns; ++i) line_.strings[i] = {nullptr, nullptr, nullptr, 0};
        space();
        if (!take('{')) return false;
        space();
        if (!take('}')) {
            do {
                space();
                if (!member()) return false;
                space();
            } while (take(','));
            if (!take('}')) return false;
        }
        space();
        if (p_ != end_) return false;
        for (size_t i = 0; i < line_.n_columns; ++i)
            if (line_.strings[i].begin == nullptr) return false;
        return true;
    }

  private:
    static constexpr int kMaxDepth = 64;
    // Python refuses integers with more digits than a setting, which may be as low as 640.
    static constexpr ptrdiff_t kMaxNumber = 600;

    void space() {
        while (p_ < end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\r' || *p_ == '\n')) ++p_;
    }
    bool take(char c) {
        if (p_ == end_ || *p_ != uint8_t(c)) return false;
        ++p_;
        return true;
    }

    bool member() {
        JsonString key{p_ + 1, nullptr, nullptr, 0};
        bool has_escape = false;
        const uint8_t* const begin = p_;
        if (!string(&has_escape)) return false;
        key.plain_end = p_ - 1;
        if (has_escape) {
            p_ = begin;
            uint8_t* const room = line_.room;
            if (!text(&key, true)) return false;
            line_.room = room;
        }
        space();
        if (!take(':')) return false;
        space();
        for (size_t i = 0; i < line_.n_columns; ++i)
            if (is_equal(key, line_.columns[i]))
                return line_.strings[i].begin == nullptr && text(&line_.strings[i], false);
        return value(1);
    }

    static bool is_equal(const JsonString& string, const Bytes& name) {
        const size_t plain = size_t(string.plain_end - string.begin);
        return name.size == plain + string.rest_size && std::memcmp(name.data, string.begin, plain) == 0 &&
               (string.rest_size == 0 || std::memcmp(name.data + plain, string.rest, string.rest_size) == 0);
    }

    // Reads the string of a column.
    bool text(JsonString* out, bool allows_half_pairs) {
        if (!take('"')) return false;
        uint8_t* to = line_.room;
        out->begin = p_;
        out->rest = to;
        p_ = Finder::template pass<false>(p_, end_, nullptr, &line_);
        out->plain_end = p_;
        for (;;) {
            if (p_ == end_) return false;
            if (*p_ == '"') break;
            if (*p_ != '\\') return false;
            do {
                uint32_t c = 0;
                if (!escape(&c) || ((c & 0x1FF800) == 0xD800 && !allows_half_pairs)) return false;
                to = put(c, to);
            } while (p_ < end_ && *p_ == '\\');
            p_ = Finder::template pass<true>(p_, end_, &to, &line_);
        }
        ++p_;
        out->rest_size = size_t(to - line_.room);
        line_.room = to;
        return true;
    }

    // Skips a string that belongs to no column.
    bool string(bool* has_escape) {
        if (!take('"')) return false;
        for (;;) {
            p_ = Finder::template pass<false>(p_, end_, nullptr, &line_);
            if (p_ == end_) return false;
            if (*p_ == '"') break;
            if (*p_ != '\\') return false;
            *has_escape = true;
            do {
                uint32_t ignored = 0;
                if (!escape(&ignored)) return false;
            } while (p_ < end_ && *p_ == '\\');
        }
        ++p_;
        return true;
    }

    // Reads one escape, or both of a surrogate pair.
    bool escape(uint32_t* out) {
        if (end_ - p_ < 2) return false;
        const uint8_t letter = p_[1];
        if (letter != 'u') {
            *out = kJsonBytes.escaped[letter];
            p_ += 2;
            return *out != 0;
        }
        uint32_t low = 0;
        if (!code_unit(out)) return false;
        if ((*out & 0xFC00) != 0xD800 || end_ - p_ < 2 || p_[0] != '\\' || p_[1] != 'u') return true;
        const uint8_t* const after = p_;
        if (!code_unit(&low)) return false;
        if ((low & 0xFC00) == 0xDC00)
            *out = 0x10000 + ((*out & 0x3FF) << 10 | (low & 0x3FF));
        else
            p_ = after;
        return true;
    }
    bool code_unit(uint32_t* out) {
        if (end_ - p_ < 6) return false;
        const uint8_t* const digit = kJsonBytes.digit;
        const uint32_t a = digit[p_[2]], b = digit[p_[3]], c = digit[p_[4]], d = digit[p_[5]];
        *out = a << 12 | b << 8 | c << 4 | d;
        p_ += 6;
        return (a | b | c | d) < 16;
    }
    static uint8_t* put(uint32_t c, uint8_t* to) {
        if (c < 0x80) {
            *to++ = uint8_t(c);
        } else if (c < 0x800) {
            *to++ = uint8_t(0xC0 | c >> 6);
            *to++ = uint8_t(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            *to++ = uint8_t(0xE0 | c >> 12);
            *to++ = uint8_t(0x80 | (c >> 6 & 0x3F));
            *to++ = uint8_t(0x80 | (c & 0x3F));
        } else {
            *to++ = uint8_t(0xF0 | c >> 18);
            *to++ = uint8_t(0x80 | (c >> 12 & 0x3F));
            *to++ = uint8_t(0x80 | (c >> 6 & 0x3F));
            *to++ = uint8_t(0x80 | (c & 0x3F));
        }
        return to;
    }

    bool value(int depth) {
        if (p_ == end_) return false;
        switch (*p_) {
            case '"': {
                bool ignored = false;
                return string(&ignored);
            }
            case '{':
                return depth < kMaxDepth && object(depth);
            case '[':
                return depth < kMaxDepth && array(depth);
            case 't':
                return literal("true", 4);
            case 'f':
                return literal("false", 5);
            case 'n':
                return literal("null", 4);
            default:
                return number();
        }
    }

    bool object(int depth) {
        ++p_;
        space();
        if (take('}')) return true;
        do {
            bool ignored = false;
            space();
            if (!string(&ignored)) return false;
            space();
            if (!take(':')) return false;
            space();
            if (!value(depth + 1)) return false;
            space();
        } while (take(','));
        return take('}');
    }

    bool array(int depth) {
        ++p_;
        space();
        if (take(']')) return true;
        do {
            space();
            if (!value(depth + 1)) return false;
            space();
        } while (take(','));
        return take(']');
    }

    bool literal(const char* word, size_t size) {
        if (size_t(end_ - p_) < size || std::memcmp(p_, word, size) != 0) return false;
        p_ += size;
        return true;
    }

    bool digits() {
        const uint8_t* const begin = p_;
        while (p_ < end_ && uint8_t(*p_ - '0') < 10) ++p_;
        return p_ > begin;
    }
    bool number() {
        const uint8_t* const begin = p_;
        take('-');
        if (!take('0') && !digits()) return false;
        if (take('.') && !digits()) return false;
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            if (!digits()) return false;
        }
        return p_ - begin <= kMaxNumber;
    }

    JsonLine& line_;
    const uint8_t* p_;
    const uint8_t* const end_;
};

// A Finder that reads eight bytes at a time, and the last ones singly.
struct JsonWordFinder {
    template <bool copies>
    static const uint8_t* pass(const uint8_t* p, const uint8_t* end, uint8_t** to, JsonLine* line) {
        constexpr uint64_t kOnes = 0x0101010101010101u, kHighs = 0x8080808080808080u;
        uint64_t any = 0;
        for (; end - p >= 8; p += 8) {
            uint64_t word;
            std::memcpy(&word, p, 8);
            const uint64_t quote = word ^ (kOnes * '"'), backslash = word ^ (kOnes * '\\');
            // Sets the high bit of each byte that is less than the subtrahend, and perhaps of bytes above it.
            const uint64_t found =
                ((word - kOnes * 0x20) & ~word) | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash);
            if ((found & kHighs) != 0) break;
            any |= word;
            if constexpr (copies) {
                std::memcpy(*to, p, 8);
                *to += 8;
            }
        }
        for (; p < end && *p != '"' && *p != '\\' && *p >= 0x20; ++p) {
            any |= *p;
            if constexpr (copies) *(*to)++ = *p;
        }
        if ((any & kHighs) != 0) line->is_ascii = false;
        return p;
    }
};

// A Finder that reads one window of bytes at a time. A small window is faster, because most strings are short.
template <typename W>
struct JsonWindowFinder {
    template <bool copies>
    static const uint8_t* pass(const uint8_t* p, const uint8_t* end, uint8_t** to, JsonLine* line) {
        uint64_t high = 0;
        for (; size_t(end - p) >= W::kSize; p += W::kSize) {
            const auto window = W::load(p);
            if constexpr (copies) window.store(*to);
            const uint64_t found =
                window.where([](auto v) { return v.equal('"') | v.equal('\\') | v.in_range(0, 0x1F); });
            high |= window.not_ascii();
            const size_t plain = found == 0 ? W::kSize : lowest_bit(found);
            if constexpr (copies) *to += plain;
            if (found == 0) continue;
            if (high != 0) line->is_ascii = false;
            return p + plain;
        }
        if (high != 0) line->is_ascii = false;
        return JsonWordFinder::pass<copies>(p, end, to, line);
    }
};

template <typename Finder>
bool read_json_line(JsonLine* line) {
    return JsonLineParser<Finder>(line).run();
}

}  // namespace
}  // namespace crayon
