#include "crayon/unicode/unicode.h"

#include <cstring>

#include "unicode/class_lookup.h"

namespace crayon {

#include "unicode/unicode_classes.inc"

namespace {

constexpr uint32_t kWordBit = 0x08;
constexpr uint32_t kSpaceBit = 0x10;
constexpr uint32_t kCodePoints = 0x110000;

uint32_t entry_of(uint32_t code_point) {
    return code_point < kCodePoints ? class_entry(code_point) : 0;
}

// How many bytes to skip at p, which does not begin a valid character: the longest prefix of some valid sequence, at
// least one byte. (Unicode 15, section 3.9, "maximal subpart".)
size_t ill_formed_size(const uint8_t* p, const uint8_t* end) {
    const uint8_t lead = p[0];
    if (lead < 0xE0 || lead > 0xF4 || end - p < 2) return 1;
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if (p[1] < low || p[1] > high) return 1;
    if (lead >= 0xF0 && end - p >= 3 && is_continuation(p[2])) return 3;
    return 2;
}

}  // namespace

CharClass char_class(Flavor, uint32_t code_point) {
    // The flavor does not matter: the measured versions of both regex engines have the same classes.
    return static_cast<CharClass>(entry_of(code_point) & kClassMask);
}

bool is_word_char(uint32_t code_point) {
    return (entry_of(code_point) & kWordBit) != 0;
}
bool is_white_space(uint32_t code_point) {
    return (entry_of(code_point) & kSpaceBit) != 0;
}

Decoded decode_utf8(const uint8_t* p, const uint8_t* end) {
    if (*p < 0x80) return {*p, 1, true};
    return decode_multibyte(p, end);
}

Decoded decode_utf8_before(const uint8_t* begin, const uint8_t* p) {
    const uint8_t* start = p - 1;
    const uint8_t* farthest = p - begin > 4 ? p - 4 : begin;
    while (start > farthest && is_continuation(*start)) --start;
    const Decoded c = decode_utf8(start, p);
    if (c.valid && start + c.size == p) return c;
    return {0, 1, false};
}

size_t utf8_error(const uint8_t* text, size_t size) {
    const uint8_t* p = text;
    const uint8_t* end = text + size;
    while (p < end) {
        if (*p < 0x80) {
            uint64_t words[2];
            while (end - p >= 16) {
                std::memcpy(words, p, 16);
                if ((words[0] | words[1]) & 0x8080808080808080u) break;
                p += 16;
            }
            while (p < end && *p < 0x80) ++p;
        } else {
            const Decoded c = decode_multibyte(p, end);
            if (!c.valid) return static_cast<size_t>(p - text);
            p += c.size;
        }
    }
    return size;
}

std::string utf8_lossy(const uint8_t* text, size_t size) {
    std::string out;
    out.reserve(size);
    const uint8_t* p = text;
    const uint8_t* end = text + size;
    while (p < end) {
        const size_t valid = utf8_error(p, static_cast<size_t>(end - p));
        out.append(reinterpret_cast<const char*>(p), valid);
        p += valid;
        if (p == end) break;
        out += "\xEF\xBF\xBD";
        p += ill_formed_size(p, end);
    }
    return out;
}

}  // namespace crayon
