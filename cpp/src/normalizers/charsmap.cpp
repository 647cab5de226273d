#include "normalizers/charsmap.h"

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"

namespace crayon {
namespace {

uint32_t unit_of(const std::string& bytes, size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value |= uint32_t(uint8_t(bytes[at + i])) << (8 * i);
    return value;
}

}  // namespace

Charsmap::Charsmap(const std::string& bytes) {
    if (bytes.size() < 4) refuse("precompiled_charsmap ends inside its header");
    const size_t units = unit_of(bytes, 0) / 4;
    if (units > (bytes.size() - 4) / 4) refuse("precompiled_charsmap ends inside its trie");
    units_.resize(units);
    for (size_t i = 0; i < units; ++i) units_[i] = unit_of(bytes, 4 + 4 * i);
    replacements_ = bytes.substr(4 + 4 * units);
    const auto* text = reinterpret_cast<const uint8_t*>(replacements_.data());
    if (utf8_error(text, replacements_.size()) != replacements_.size())
        refuse("the replacements of precompiled_charsmap are not UTF-8");
}

bool Charsmap::begins_with_ascii(uint8_t byte) const {
    size_t at = offset(unit(0)) ^ byte;
    const uint32_t found = unit(at);
    if (byte == 0 || (found & (0x80000000u | 0xFF)) != byte) return false;
    if (found & 0x100) return true;
    at ^= offset(found);
    for (size_t next = 1; next < 0x80; ++next)
        if ((unit(at ^ next) & (0x80000000u | 0xFF)) == next) return true;
    return false;
}

std::string_view Charsmap::replacement_at(size_t at) const {
    if (at > replacements_.size() || (at < replacements_.size() && (replacements_[at] & 0xC0) == 0x80))
        refuse("the trie of precompiled_charsmap leads outside its replacements");
    const size_t stop = replacements_.find('\0', at);
    return std::string_view(replacements_).substr(at, stop == std::string::npos ? stop : stop - at);
}

void Charsmap::refuse(const char* why) {
    throw Error(ErrorKind::vocabulary, std::string("normalizer Precompiled: ") + why);
}

}  // namespace crayon
