#include "encode/cutter/seam_finder.h"

#include <algorithm>

#include "crayon/unicode/unicode.h"

namespace crayon {
namespace {

bool is_inside(const TextView& text, size_t at) {
    return text.width == 0 && at < text.size && (static_cast<const uint8_t*>(text.data)[at] & 0xC0) == 0x80;
}

size_t next_character(Bytes text, size_t at) {
    for (++at; at < text.size && (text[at] & 0xC0) == 0x80;) ++at;
    return at;
}

}  // namespace

// Returns the last seam (a place where cutting changes no id) in (from, to), or `from` if none is there. A seam depends
// on a few characters before it, so the function also reads text before `from`.
size_t SeamFinder::last_inside(size_t from, size_t to) {
    size_t start = from - std::min(from, seams_.reach() + 4);
    while (start < to && is_inside(text_, start)) ++start;
    while (to > start && is_inside(text_, to)) --to;
    const Bytes window = reader_.read(text_, start, to);
    if (text_.width == 0) {
        if (utf8_error(window.data, window.size) != window.size) return from;
        const size_t at = seams_.last_inside(window, from - std::min(from, start));
        return at == 0 ? from : start + at;
    }
    size_t least = 0;
    for (size_t unit = start; unit < from; ++unit) least = next_character(window, least);
    const size_t at = seams_.last_inside(window, least);
    if (at == 0) return from;
    size_t unit = from;
    for (size_t byte = least; byte < at; ++unit) byte = next_character(window, byte);
    return unit;
}

size_t SeamFinder::previous(size_t from, size_t to) {
    if (!seams_.exist_inside()) return from;
    for (const size_t near : {size_t(1) << 10, size_t(1) << 14}) {
        const size_t start = std::max(from, to - std::min(to, near)), at = last_inside(start, to);
        if (at != start) return at;
        if (start == from) break;
    }
    return from;
}

size_t SeamFinder::next(size_t size) {
    // The last characters of a window are read again in the next window. While no seam is found, windows grow, so that
    // little is read twice.
    constexpr size_t kAgain = 4 * (kSeamAfter + 1), kLeast = 64;
    static_assert(kAgain < kLeast);
    while (seams_.exist_inside()) {
        const size_t to = std::max(from_ + size, looked_ + std::max(kLeast, (looked_ - from_) / 2));
        if (to + size / 2 >= text_.size) break;
        const size_t before = looked_, at = previous(before, to);
        looked_ = to - kAgain;
        if (at == before) continue;
        looked_ = std::max(looked_, at);
        return from_ = at;
    }
    return from_ = looked_ = text_.size;
}

}  // namespace crayon
