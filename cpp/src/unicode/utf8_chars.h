// Characters of text that is valid UTF-8 by contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "crayon/support/bytes.h"

namespace crayon {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, which represents a space

struct Character {
    uint32_t code_point;
    uint32_t size;
};

// Decodes the character at `p`. If `end` cuts its sequence, each byte counts as a character of its own, so that invalid
// text causes no read past `end`.
inline Character character_at(const uint8_t* p, const uint8_t* end) {
    const uint32_t lead = p[0];
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xC0) return {0, 1};
    const uint32_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (size_t(end - p) < size) return {0, 1};
    uint32_t code_point = lead & (0xFFu >> (size + 1));
    for (uint32_t i = 1; i < size; ++i) code_point = code_point << 6 | (p[i] & 0x3Fu);
    return {code_point, size};
}

// The size of the character at `at`, in UTF-8 text.
inline size_t char_size(Bytes text, size_t at) {
    const uint8_t lead = text[at];
    const size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return size <= text.size - at ? size : text.size - at;
}

// The start of the character before `p` (begin < p).
inline const uint8_t* character_before(const uint8_t* begin, const uint8_t* p) {
    do --p;
    while (p > begin && (*p & 0xC0) == 0x80);
    return p;
}

// Writes at most four bytes. Returns their number.
inline size_t put_utf8(uint32_t c, char* bytes) {
    if (c < 0x80) {
        bytes[0] = char(c);
        return 1;
    }
    const uint32_t tail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    bytes[0] = char((0xFF00u >> (tail + 1) & 0xFFu) | c >> (6 * tail));
    for (uint32_t i = 1; i <= tail; ++i) bytes[i] = char(0x80u | (c >> (6 * (tail - i)) & 0x3Fu));
    return tail + 1;
}

inline void append_utf8(uint32_t c, std::string* out) {
    char bytes[4];
    out->append(bytes, put_utf8(c, bytes));
}

// Returns the high bit of each byte of `word` that is at least `limit`, which is 0x80 or more.
inline uint64_t bytes_from(uint8_t limit, uint64_t word) {
    constexpr uint64_t kHigh = 0x8080808080808080u;
    const uint64_t lift = 0x0101010101010101u * (0x100u - limit);
    return word & ((word & ~kHigh) + lift) & kHigh;
}

// Skips bytes below `limit` (0x80 or more), eight at a time.
inline const uint8_t* skip_below(const uint8_t* p, const uint8_t* end, uint8_t limit) {
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        if (bytes_from(limit, word) != 0) break;
    }
    while (p < end && *p < limit) ++p;
    return p;
}

inline const uint8_t* skip_ascii(const uint8_t* p, const uint8_t* end) {
    return skip_below(p, end, 0x80);
}

}  // namespace crayon
