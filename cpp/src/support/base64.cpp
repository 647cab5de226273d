#include "support/base64.h"

#include <cstdint>

namespace crayon {
namespace {

// The value of a digit, or -1.
int digit_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

bool from_base64(std::string_view text, std::string* out) {
    size_t digits = text.size();
    while (digits > 0 && text[digits - 1] == '=') --digits;
    const size_t padding = text.size() - digits;
    const size_t last = digits % 4;  // digits of the last group
    if (last == 1 || padding > 2 || (padding > 0 && (last == 0 || last + padding > 4))) return false;
    out->clear();
    out->reserve(digits / 4 * 3 + 2);
    uint32_t bits = 0;
    for (size_t i = 0; i < digits; ++i) {
        const int value = digit_value(text[i]);
        if (value < 0) return false;
        bits = bits << 6 | uint32_t(value);
        if (i % 4 == 3) {
            out->push_back(char(bits >> 16));
            out->push_back(char(bits >> 8));
            out->push_back(char(bits));
            bits = 0;
        }
    }
    if (last == 2) {
        if (bits & 0xF) return false;  // bits that no byte has
        out->push_back(char(bits >> 4));
    } else if (last == 3) {
        if (bits & 0x3) return false;
        out->push_back(char(bits >> 10));
        out->push_back(char(bits >> 2));
    }
    return true;
}

}  // namespace crayon
