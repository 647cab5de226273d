#include "scan/family_borders.h"

#include <initializer_list>

#include "crayon/unicode/unicode.h"

namespace crayon {
namespace {

uint32_t set_of(CharClass c) {
    return 1u << uint32_t(c);
}

}  // namespace

// Finds pairs of classes that no alternative of a pattern matches as neighbours. The pretoken before such a border then
// ends at the border. Alternatives stop there as at the end of a text, so the pretoken ends there in the first part as
// well. The exception is white space: at the end of a text it is one pretoken, elsewhere it may not be. So the
// character before the border may not be white space, except a line break where `\s*[\r\n]+` takes all of it.
bool family_divides(Family family, Flavor flavor, const Border& border) {
    if (family == Family::whole || border.before[0] == kUnknownChar) return false;
    const bool breaks = family != Family::gpt2;  // line breaks belong to punctuation before them
    const bool cased = family == Family::o200k || family == Family::tekken;
    const uint32_t before = border.before[0], after = border.after[0];
    const auto is_in = [](uint32_t c, std::initializer_list<CharClass> classes, Flavor f) {
        uint32_t set = 0;
        for (const CharClass each : classes) set |= set_of(each);
        return (set & set_of(char_class(f, c))) != 0;
    };
    const auto is_letter = [&](uint32_t c) {
        return is_in(c, {CharClass::upper, CharClass::lower, CharClass::letter}, flavor);
    };
    const auto is_number = [&](uint32_t c) { return is_in(c, {CharClass::number}, flavor); };
    const auto is_white = [&](uint32_t c) { return is_in(c, {CharClass::space, CharClass::newline}, flavor); };
    if (is_letter(before)) {
        if (is_number(after) || is_white(after)) return true;
        // Marks and contractions belong to cased words.
        return !is_letter(after) && !(cased && (after == '\'' || char_class(flavor, after) == CharClass::mark));
    }
    if (is_number(before)) return !is_number(after) || family == Family::qwen2 || family == Family::tekken;
    if (is_white(before)) {
        const bool is_slash = cased && after == '/';  // `[\r\n/]*` after punctuation
        return breaks && char_class(flavor, before) == CharClass::newline && !is_white(after) && !is_slash;
    }
    // Punctuation, symbols, marks.
    if (after == ' ' || is_number(after)) return true;
    return !breaks && (is_white(after) || (is_letter(after) && before != '\''));
}

}  // namespace crayon
