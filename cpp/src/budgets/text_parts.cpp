#include "budgets/text_parts.h"

#include <algorithm>

namespace crayon {
namespace {

bool is_inside(const TextView& text, size_t at) {
    return text.width == 0 && at < text.size && (static_cast<const uint8_t*>(text.data)[at] & 0xC0) == 0x80;
}

size_t next_character(Bytes text, size_t at) {
    for (++at; at < text.size && (text[at] & 0xC0) == 0x80;) ++at;
    return at;
}

// The last seam in (from, to), or `from`. Also reads the text before `from`.
size_t seam_between(const Seams& seams, const TextView& text, size_t from, size_t to, Utf8Reader* reader) {
    size_t start = from - std::min(from, seams.reach() + 1);
    while (start > 0 && is_inside(text, start)) --start;
    while (is_inside(text, to)) ++to;
    const Bytes window = reader->read(text, start, to);
    if (text.width == 0) {
        const size_t at = seams.last_inside(window, from - start);
        return at == 0 ? from : start + at;
    }
    size_t least = 0;
    for (size_t unit = start; unit < from; ++unit) least = next_character(window, least);
    const size_t at = seams.last_inside(window, least);
    if (at == 0) return from;
    size_t unit = from;
    for (size_t byte = least; byte < at; ++unit) byte = next_character(window, byte);
    return unit;
}

}  // namespace

size_t PartCutter::next(size_t size) {
    // The last characters of a window are read again with the next ones. Without seams for long, windows grow, so that
    // little is read twice.
    constexpr size_t kAgain = 4 * (kSeamAfter + 1), kLeast = 64;
    static_assert(kAgain < kLeast);
    while (seams_.exist_inside()) {
        const size_t to = std::max(from_ + size, looked_ + std::max(kLeast, (looked_ - from_) / 2));
        if (to + size / 2 >= text_.size) break;
        const size_t before = looked_, at = seam_between(seams_, text_, before, to, &reader_);
        looked_ = to - kAgain;
        if (at == before) continue;
        looked_ = std::max(looked_, at);
        return from_ = at;
    }
    return from_ = looked_ = text_.size;
}

size_t seam_before(const Seams& seams, const TextView& text, size_t to) {
    Utf8Reader reader;
    if (!seams.exist_inside()) return 0;
    for (const size_t near : {Seams::kNearSeam / 4, Seams::kNearSeam, Seams::kFarSeam}) {
        const size_t from = to - std::min(to, near), at = seam_between(seams, text, from, to, &reader);
        if (at != from) return at;
        if (from == 0) break;
    }
    return 0;
}

StretchEncoder::StretchEncoder(const Engine& engine, bool special_as_text) : engine_(engine), lease_(engine) {
    options_.add_special_tokens = false;
    options_.special_as_text = special_as_text;
}

void StretchEncoder::encode(const TextView& text, size_t from, size_t to, bool continues, IdBuffer* out) {
    const Bytes bytes = reader_.read(text, from, to);
    if (engine_.single_frame() == nullptr)
        engine_.encode_ids(bytes, options_, *lease_, out);  // the text has no seams
    else
        engine_.encode_inner_ids(bytes, options_.special_as_text, *lease_, out, continues);
}

size_t StretchEncoder::count(const TextView& text, size_t from, size_t to, bool continues) {
    ids_.clear();
    encode(text, from, to, continues, &ids_);
    return ids_.size();
}

std::vector<Offset> StretchEncoder::spans(const TextView& text, size_t from, size_t to, bool continues) {
    int32_t words = 0;
    return engine_.encode_part(reader_.read(text, from, to), options_, continues, *lease_, &words).offsets;
}

}  // namespace crayon
