#include "crayon/normalizers/aligned_text.h"

#include "crayon/support/error.h"
#include "normalizers/text_rewriter.h"
#include "unicode/utf8_chars.h"

namespace crayon {

void AlignedText::assign(Bytes original, bool with_alignments) {
    if (with_alignments && original.size > UINT32_MAX)
        throw Error(ErrorKind::argument, "texts of 4 GiB and more have no offsets");
    text.assign(reinterpret_cast<const char*>(original.data), original.size);
    aligned = with_alignments;
    unplaced = 0;
    continues = false;
    if (!with_alignments) {
        alignments.clear();
        return;
    }
    alignments.resize(original.size);
    Alignment* out = alignments.data();
    const uint8_t* const end = original.end();
    for (const uint8_t* p = original.begin(); p < end;) {
        const uint32_t from = uint32_t(p - original.data);
        const uint32_t size = *p < 0x80 ? 1 : character_at(p, end).size;
        for (uint32_t i = 0; i < size; ++i) *out++ = {from, from + size};
        p += size;
    }
}

size_t unplaced_bytes(const AlignedText& text) {
    if (!text.aligned) return text.unplaced;
    size_t n = 0;
    while (n < text.alignments.size() && text.alignments[n].start == text.alignments[n].end) ++n;
    return n;
}

void transform(AlignedText* text, size_t start, size_t end, const std::vector<Change>& changes, size_t dropped) {
    if (!text->aligned && text->unplaced == 0) {
        // Transforms a copy with alignments, which tell how many bytes are unplaced afterwards, and whether the changes
        // exceed the text.
        AlignedText placed;
        placed.assign(text->text, true);
        transform(&placed, start, end, changes, dropped);
        text->text.swap(placed.text);
        text->unplaced = unplaced_bytes(placed);
        return;
    }
    TextRewriter out(text, start, end);
    out.drop(dropped);
    for (const Change& c : changes) out.put(c.code_point, c.change);
    out.finish();
}

}  // namespace crayon
