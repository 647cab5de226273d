#include "normalizers/normalize_steps.h"

#include <array>
#include <cstring>
#include <string>

#include "crayon/unicode/unicode.h"
#include "normalizers/text_rewriter.h"
#include "unicode/byte_level.h"
#include "unicode/char_kinds.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101u;
constexpr uint64_t kHigh = 0x80 * kOnes;

uint64_t word_at(const uint8_t* p) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

// The high bit of each byte that is an ASCII capital. `word` must be ASCII.
uint64_t capitals_of(uint64_t word) {
    return ((word + kOnes * (0x80 - 'A')) ^ (word + kOnes * (0x7F - 'Z'))) & kHigh;
}

bool is_upper_ascii(uint8_t c) {
    return uint8_t(c - 'A') < 26;
}

// The first character that is not its own lower case, or the end.
const uint8_t* find_uppercase(const uint8_t* p, const uint8_t* end) {
    while (p < end) {
        if (*p < 0x80) {
            while (end - p >= 8 && !(word_at(p) & kHigh) && capitals_of(word_at(p)) == 0) p += 8;
            for (; p < end && *p < 0x80; ++p)
                if (is_upper_ascii(*p)) return p;
        } else {
            const Character c = character_at(p, end);
            if (lower_of(c.code_point) != c.code_point) return p;
            p += c.size;
        }
    }
    return end;
}

// Lowers in place, up to the first character whose lower case has another size.
uint8_t* lowercase_in_place(uint8_t* p, const uint8_t* end) {
    while (p < end) {
        if (*p < 0x80) {
            for (; end - p >= 8; p += 8) {
                uint64_t word = word_at(p);
                if (word & kHigh) break;
                word |= capitals_of(word) >> 2;  // 0x20
                std::memcpy(p, &word, 8);
            }
            for (; p < end && *p < 0x80; ++p)
                if (is_upper_ascii(*p)) *p |= 0x20;
            continue;
        }
        const Character c = character_at(p, end);
        const uint32_t lower = lower_of(c.code_point);
        if (lower != c.code_point) {
            char bytes[4];
            if (lower == kSeveralLower || put_utf8(lower, bytes) != c.size) return p;
            std::memcpy(p, bytes, c.size);
        }
        p += c.size;
    }
    return p;
}

const uint8_t* begin_of(const AlignedText& text) {
    return reinterpret_cast<const uint8_t*>(text.text.data());
}

void put_lower(uint32_t lower, TextRewriter* out) {
    if (lower != kSeveralLower) {
        out->put(lower, 0);
    } else {
        out->put('i', 0);
        out->put(0x307, 1);
    }
}

bool is_space_at(const uint8_t* p, const uint8_t* end) {
    return is_white_space(character_at(p, end).code_point);
}

}  // namespace

bool has_kinds(uint32_t kinds, Bytes text) {
    return find_kinds(kinds, text.begin(), text.end()) != text.end();
}

bool has_uppercase(Bytes text) {
    return find_uppercase(text.begin(), text.end()) != text.end();
}

bool is_strippable(bool left, bool right, Bytes text) {
    if (text.empty()) return false;
    return (left && is_space_at(text.begin(), text.end())) ||
           (right && is_space_at(character_before(text.begin(), text.end()), text.end()));
}

bool remove_kinds(uint32_t kinds, Border* border) {
    return map_border(border, true, [kinds](uint32_t c) { return char_kind(c) & kinds ? kUnknownChar : c; });
}

bool blank_kinds(uint32_t kinds, Border* border) {
    return map_border(border, false, [kinds](uint32_t c) { return char_kind(c) & kinds ? ' ' : c; });
}

bool lowercase(Border* border) {
    return map_border(border, false, [](uint32_t c) {
        const uint32_t lower = lower_of(c);
        return lower == kSeveralLower ? kUnknownChar : lower;
    });
}

void remove_kinds(uint32_t kinds, AlignedText* text) {
    const uint8_t* p = begin_of(*text);
    const uint8_t* const end = p + text->size();
    const uint8_t* found = find_kinds(kinds, p, end);
    if (found == end && unplaced_bytes(*text) == 0) return;
    TextRewriter out(text);
    for (; found < end; found = find_kinds(kinds, p, end)) {
        out.keep(p, found);
        p = found + character_at(found, end).size;
        out.drop(found, p);
    }
    out.keep(p, end);
    out.finish();
}

void blank_kinds(uint32_t kinds, AlignedText* text) {
    const uint8_t* p = begin_of(*text);
    const uint8_t* const end = p + text->size();
    const uint8_t* found = find_kinds(kinds, p, end);
    const bool placed = unplaced_bytes(*text) == 0;
    // If the text has no unplaced bytes, a space replaces a one-byte character without moving the rest.
    for (; placed && found < end && *found < 0x80; found = find_kinds(kinds, found + 1, end))
        text->text[size_t(found - p)] = ' ';
    if (found == end && placed) return;
    TextRewriter out(text);
    for (; found < end; found = find_kinds(kinds, p, end)) {
        out.keep(p, found);
        p = found + character_at(found, end).size;
        out.put(' ', 0);
    }
    out.keep(p, end);
    out.finish();
}

void lowercase(AlignedText* text) {
    const uint8_t* p = begin_of(*text);
    const uint8_t* const end = p + text->size();
    const uint8_t* found = p;
    if (unplaced_bytes(*text) == 0) {
        found = lowercase_in_place(reinterpret_cast<uint8_t*>(text->text.data()), end);
        if (found == end) return;
    }
    TextRewriter out(text);
    for (; found < end; found = find_uppercase(p, end)) {
        out.keep(p, found);
        const Character c = character_at(found, end);
        put_lower(lower_of(c.code_point), &out);
        p = found + c.size;
    }
    out.keep(p, end);
    out.finish();
}

void strip(bool left, bool right, AlignedText* text) {
    const uint8_t* const begin = begin_of(*text);
    const uint8_t* const end = begin + text->size();
    const uint8_t* from = begin;
    const uint8_t* to = end;
    while (left && from < end && is_space_at(from, end)) from += character_at(from, end).size;
    while (right && to > from && is_space_at(character_before(from, to), end)) to = character_before(from, to);
    if (from == begin && to == end) return;
    TextRewriter out(text);
    out.drop(begin, from);
    out.keep(from, to);
    out.drop(to, end);
    out.finish();
}

namespace {

struct Spelling {
    char bytes[2];
    uint8_t size;
};

std::array<Spelling, 256> spellings() {
    std::array<Spelling, 256> table{};
    for (uint32_t b = 0; b < 256; ++b) {
        char bytes[4] = {};
        table[b].size = uint8_t(put_utf8(byte_level_char(uint8_t(b)), bytes));
        std::memcpy(table[b].bytes, bytes, 2);
    }
    return table;
}

}  // namespace

void spell_bytes(AlignedText* text) {
    static const std::array<Spelling, 256> kSpellings = spellings();
    if (text->text.empty()) return;
    if (unplaced_bytes(*text) == 0) {
        // Both bytes of a spelling have the alignment of the original byte; bytes of one character share theirs.
        const Bytes old(text->text);
        std::string spelled(2 * old.size, '\0');
        std::vector<Alignment> alignments(text->aligned ? spelled.size() : 0);
        size_t size = 0;
        for (size_t i = 0; i < old.size; ++i) {
            const Spelling& spelling = kSpellings[old[i]];
            std::memcpy(&spelled[size], spelling.bytes, 2);
            if (text->aligned) alignments[size] = alignments[size + spelling.size - 1] = text->alignments[i];
            size += spelling.size;
        }
        spelled.resize(size);
        alignments.resize(text->aligned ? size : 0);
        text->text.swap(spelled);
        text->alignments.swap(alignments);
        return;
    }
    const uint8_t* p = begin_of(*text);
    const uint8_t* const end = p + text->size();
    TextRewriter out(text);
    while (p < end) {
        const uint32_t size = character_at(p, end).size;
        for (uint32_t i = 0; i < size; ++i) out.put(byte_level_char(p[i]), i == 0 ? 0 : 1);
        p += size;
    }
    out.finish();
}

void prepend(std::string_view what, AlignedText* text) {
    if (text->text.empty()) return;
    const size_t first = character_at(begin_of(*text), begin_of(*text) + text->size()).size;
    if (what.empty()) {
        // Hugging Face tokenizers inserts the first character again at the start, without an alignment.
        if (text->aligned)
            for (size_t i = 0; i < first; ++i) text->alignments[i] = {0, 0};
        else if (text->unplaced == 0)
            text->unplaced = first;
        return;
    }
    if (text->aligned)
        text->alignments.insert(text->alignments.begin(), what.size(), Alignment(text->alignments.front()));
    else if (text->unplaced > 0)
        text->unplaced += what.size();
    text->text.insert(0, what);
}

}  // namespace crayon
