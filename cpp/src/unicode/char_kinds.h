// Properties of single characters for normalizers. The tables were measured from Hugging Face tokenizers
// (tools/unicode/), where each property has a Unicode version of its own.
#pragma once

#include <array>
#include <cstdint>

#include "crayon/support/bytes.h"

namespace crayon {

// Kinds of characters, as bits. The low four are a GraphemeClass.
constexpr uint32_t kGraphemeMask = 0xF;
constexpr uint32_t kLinker = 0x10;         // joins consonants to one grapheme cluster
constexpr uint32_t kClusterExtend = 0x20;  // may be between consonants that a linker joins
constexpr uint32_t kBertRemoved = 0x40;
constexpr uint32_t kBertSpace = 0x80;  // becomes a space
constexpr uint32_t kChinese = 0x100;   // gets spaces around it
constexpr uint32_t kNonspacingMark = 0x200;
constexpr uint32_t kCombiningMark = 0x400;
constexpr uint32_t kNmtRemoved = 0x800;
constexpr uint32_t kNmtSpace = 0x1000;

// Grapheme_Cluster_Break (UAX #29), with pictographs and Indic consonants.
enum class GraphemeClass : uint8_t {
    other,
    control,  // with CR and LF
    extend,
    zwj,
    spacing_mark,
    prepend,
    l,
    v,
    t,
    lv,
    lvt,
    pictograph,
    consonant,
};

uint32_t char_kind(uint32_t code_point);
// kinds_in returns all kinds in the text. find_kinds returns the first character of one of the kinds, or the end.
uint32_t kinds_in(Bytes text);
const uint8_t* find_kinds(uint32_t kinds, const uint8_t* p, const uint8_t* end);
// The kinds of ASCII characters. Printable ones (0x20 to 0x7E) have none.
extern const std::array<uint16_t, 128> kAsciiKinds;

// The lower case, or kSeveralLower for U+0130, which becomes "i" and U+0307.
constexpr uint32_t kSeveralLower = 0xFFFFFFFF;
uint32_t lower_of(uint32_t code_point);

}  // namespace crayon
