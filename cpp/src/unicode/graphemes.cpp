#include "unicode/graphemes.h"

#include "unicode/char_kinds.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

using Class = GraphemeClass;

Class class_of(uint32_t kind) {
    return Class(kind & kGraphemeMask);
}

// Rules GB6 to GB8.
bool hangul_joins(Class before, Class after) {
    switch (before) {
        case Class::l:
            return after == Class::l || after == Class::v || after == Class::lv || after == Class::lvt;
        case Class::lv:
        case Class::v:
            return after == Class::v || after == Class::t;
        case Class::lvt:
        case Class::t:
            return after == Class::t;
        default:
            return false;
    }
}

}  // namespace

const uint8_t* cluster_end(const uint8_t* p, const uint8_t* end) {
    Character c = character_at(p, end);
    p += c.size;
    if (p == end) return p;
    if (c.code_point == '\r' && *p == '\n') return p + 1;
    // ASCII joins the previous character only if that is of class prepend.
    if (c.code_point < 0x80 && *p < 0x80) return p;
    Class before = class_of(char_kind(c.code_point));
    if (before == Class::control) return p;
    // GB11: a pictograph with extenders, then a joiner. GB9c: a consonant with extenders, including a linker.
    enum { nothing, first, bridge };
    int pictograph = before == Class::pictograph ? first : nothing;
    int consonant = before == Class::consonant ? first : nothing;
    for (; p < end; p += c.size) {
        c = character_at(p, end);
        const uint32_t kind = char_kind(c.code_point);
        const Class after = class_of(kind);
        if (after == Class::control) return p;
        const bool extends = after == Class::extend || after == Class::zwj || after == Class::spacing_mark;
        if (!extends && before != Class::prepend && !hangul_joins(before, after) &&
            !(after == Class::pictograph && pictograph == bridge) &&
            !(after == Class::consonant && consonant == bridge))
            return p;
        if (after == Class::pictograph)
            pictograph = first;
        else if (pictograph == first && after == Class::zwj)
            pictograph = bridge;
        else if (pictograph != first || after != Class::extend)
            pictograph = nothing;
        if (after == Class::consonant)
            consonant = first;
        else if (consonant != nothing && (kind & kLinker))
            consonant = bridge;
        else if (!(kind & kClusterExtend))
            consonant = nothing;
        before = after;
    }
    return end;
}

}  // namespace crayon
