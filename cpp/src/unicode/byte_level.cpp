#include "unicode/byte_level.h"

#include <algorithm>
#include <array>

#include "crayon/unicode/unicode.h"

namespace crayon {
namespace {

// Printable bytes spell themselves; the others get U+0100, U+0101, ... in order.
constexpr bool is_printable(int b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
}

constexpr int kChars = 0x144;  // one past the last code point used

struct Tables {
    std::array<uint16_t, 256> to_char{};
    std::array<int16_t, kChars> to_byte{};
    constexpr Tables() {
        for (auto& b : to_byte) b = -1;
        int next = 0x100;
        for (int b = 0; b < 256; ++b) {
            const int c = is_printable(b) ? b : next++;
            to_char[size_t(b)] = uint16_t(c);
            to_byte[size_t(c)] = int16_t(b);
        }
    }
};
constexpr Tables kTables;

}  // namespace

uint32_t byte_level_char(uint8_t byte) {
    return kTables.to_char[byte];
}

std::string to_byte_level(Bytes bytes) {
    std::string out;
    out.reserve(bytes.size * 2);
    for (const uint8_t b : bytes) {
        const uint32_t c = kTables.to_char[b];
        if (c < 0x80) {
            out.push_back(char(c));
        } else {
            out.push_back(char(0xC0 | c >> 6));
            out.push_back(char(0x80 | (c & 0x3F)));
        }
    }
    return out;
}

bool from_byte_level(std::string_view text, std::string* out) {
    out->clear();
    const Bytes bytes(text);
    for (const uint8_t* p = bytes.begin(); p != bytes.end();) {
        if (*p < 0x80) {
            if (kTables.to_byte[*p] < 0) return false;
            out->push_back(char(kTables.to_byte[*p++]));
            continue;
        }
        const Decoded c = decode_utf8(p, bytes.end());
        if (!c.valid || c.code_point >= kChars || kTables.to_byte[c.code_point] < 0) return false;
        out->push_back(char(kTables.to_byte[c.code_point]));
        p += c.size;
    }
    return true;
}

WhiteEnds white_ends(std::string_view text) {
    const Bytes bytes(text);
    const auto is_white = [](const Decoded& c) {
        return c.valid && (c.code_point == byte_level_char(' ') || is_white_space(c.code_point));
    };
    size_t leading = 0, trailing = 0;
    for (const uint8_t* p = bytes.begin(); p != bytes.end(); ++leading) {
        const Decoded c = decode_utf8(p, bytes.end());
        if (!is_white(c)) break;
        p += c.size;
    }
    for (const uint8_t* p = bytes.end(); p != bytes.begin(); ++trailing) {
        const Decoded c = decode_utf8_before(bytes.begin(), p);
        if (!is_white(c)) break;
        p -= c.size;
    }
    return {uint16_t(std::min<size_t>(leading, 0xFFFF)), uint16_t(std::min<size_t>(trailing, 0xFFFF))};
}

}  // namespace crayon
