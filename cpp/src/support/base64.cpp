#include "support/base64.h"

#include <array>
#include <cstdint>

namespace crayon {
namespace {

constexpr uint32_t kNoDigit = 1u << 24;  // above all bits of four digits

constexpr std::array<uint32_t, 256> digit_values() {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<uint32_t, 256> values{};
    for (uint32_t& value : values) value = kNoDigit;
    for (uint32_t value = 0; value < 64; ++value) values[uint8_t(digits[value])] = value;
    return values;
}

constexpr std::array<uint32_t, 256> kValues = digit_values();

// Returns the bits of `n` digits, or at least kNoDigit if one of them is invalid.
uint32_t bits_of(const char* digits, size_t n) {
    uint32_t bits = 0, others = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t value = kValues[uint8_t(digits[i])];
        bits = bits << 6 | value;
        others |= value;
    }
    return bits | (others & kNoDigit);
}

}  // namespace

bool from_base64(std::string_view text, std::string* out) {
    size_t digits = text.size();
    while (digits > 0 && text[digits - 1] == '=') --digits;
    const size_t padding = text.size() - digits;
    const size_t last = digits % 4;  // digits of the last group
    if (last == 1 || padding > 2 || (padding > 0 && (last == 0 || last + padding > 4))) return false;
    out->resize(digits / 4 * 3);
    char* to = &(*out)[0];
    for (size_t i = 0; i + 4 <= digits; i += 4) {
        const uint32_t bits = bits_of(text.data() + i, 4);
        if (bits >= kNoDigit) return false;
        *to++ = char(bits >> 16);
        *to++ = char(bits >> 8);
        *to++ = char(bits);
    }
    const uint32_t bits = bits_of(text.data() + digits - last, last);
    if (bits >= kNoDigit) return false;
    if (last == 2) {
        if (bits & 0xF) return false;  // bits beyond the last byte
        out->push_back(char(bits >> 4));
    } else if (last == 3) {
        if (bits & 0x3) return false;
        out->push_back(char(bits >> 10));
        out->push_back(char(bits >> 2));
    }
    return true;
}

}  // namespace crayon
