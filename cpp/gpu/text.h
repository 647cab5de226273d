// Text in a GPU's memory, for the rules of scan_rules.h.
#pragma once

#include "scan/scan_masks.h"
#include "team.h"
#include "work.h"

namespace crayon {
namespace gpu {

CRAYON_DEVICE inline bool has_bit(const uint32_t* bitmap, uint32_t at) {
    return bitmap[at / 32] >> (at % 32) & 1;
}
CRAYON_DEVICE inline void set_bit(uint32_t* bitmap, uint32_t at) {
    atomic_or(bitmap + at / 32, uint32_t(1) << (at % 32));
}

// Loads eight unaligned bytes of text; bytes after the end are zero. A GPU only has aligned loads, so this takes two,
// and reads up to 15 bytes after the text. At 3, bytes 3 to 7 come from the first load and 8 to 10 from the second.
CRAYON_DEVICE inline uint64_t load_eight(const uint8_t* text, uint32_t at) {
    const uint64_t* const words = reinterpret_cast<const uint64_t*>(text) + at / 8;
    const uint32_t shift = at % 8 * 8;
    return shift == 0 ? words[0] : words[0] >> shift | words[1] << (64 - shift);
}
CRAYON_DEVICE inline uint64_t low_bytes(uint64_t word, uint32_t n) {
    return n >= 8 ? word : word & ((uint64_t(1) << 8 * n) - 1);
}

// A place in the text. The default value differs from all places.
struct TextCursor {
    const Work* work = nullptr;
    uint32_t at = 0xFFFFFFFFu;

    CRAYON_DEVICE uint8_t operator*() const { return work->text[at]; }
    CRAYON_DEVICE uint8_t operator[](uint32_t i) const { return work->text[at + i]; }
    CRAYON_DEVICE TextCursor operator+(uint32_t n) const { return {work, at + n}; }
    CRAYON_DEVICE TextCursor& operator+=(uint32_t n) {
        at += n;
        return *this;
    }
    CRAYON_DEVICE TextCursor& operator++() { return *this += 1; }
    CRAYON_DEVICE bool operator==(const TextCursor& o) const { return at == o.at; }
    CRAYON_DEVICE bool operator!=(const TextCursor& o) const { return at != o.at; }
};

// The end of the part that contains the pretoken at `from`. The end is never computed: comparisons test each place
// for a part's start.
struct PartEnd {
    uint32_t from;
};
CRAYON_DEVICE inline bool operator<(const TextCursor& p, const PartEnd& end) {
    return p.at == end.from || !has_bit(p.work->parts, p.at);
}
CRAYON_DEVICE inline bool operator==(const TextCursor& p, const PartEnd& end) {
    return !(p < end);
}
// The number of bytes up to the end of the part. Counts at most four.
CRAYON_DEVICE inline uint32_t operator-(const PartEnd& end, const TextCursor& p) {
    uint32_t n = 0;
    while (n < 4 && p + n < end) ++n;
    return n;
}

CRAYON_DEVICE inline uint32_t class_entry_at(const TextCursor& p, uint32_t code_point) {
    const Tables& t = p.work->tables;
    return t.class_blocks[t.class_index[code_point >> 7] * 128u + (code_point & 127)];
}
CRAYON_DEVICE inline uint32_t ascii_class_entry_at(const TextCursor& p) {
    return p.work->tables.class_blocks[*p];
}

// Returns the start of the character that may contain the continuation byte at `at`. Such a character begins at most
// three bytes before `at`, so this reads at most three bytes.
CRAYON_DEVICE inline uint32_t lead_before(const Work& work, uint32_t at) {
    uint32_t start = at - 1;
    while (at - start < 3 && is_continuation(work.text[start]) && !has_bit(work.parts, start)) --start;
    return start;
}

// Whether a character begins at `at`.
CRAYON_DEVICE inline bool begins_char(const Work& work, uint32_t at) {
    if (!is_continuation(work.text[at]) || has_bit(work.parts, at)) return true;
    const uint32_t start = lead_before(work, at);
    return start + read_char(TextCursor{&work, start}, PartEnd{start}).size <= at;
}

// Returns the place after the chunks from `at` on whose characters are all in `set`. Returns `at` if it is not the
// first start of a character in its chunk. Skips whole tiles of such chunks at once.
CRAYON_DEVICE inline uint32_t behind_chunks(const Work& w, uint32_t at, uint32_t set) {
    constexpr uint32_t kTileBytes = kTile * kChunk;
    const uint32_t before = at % kChunk;
    if (before > 3 || (~w.planes[at / kChunk].continuations & bits_below(before)) != 0) return at;
    const uint32_t first = at - before;
    uint32_t behind = first;
    // The sets are exact only where no part begins in the chunk or tile (chunks.h).
    while (behind + kChunk <= w.size && (behind == first || !has_bit(w.parts, behind))) {
        const bool is_tile =
            behind % kTileBytes == 0 && behind + kTileBytes <= w.size && (w.tile_sets[behind / kTileBytes] & ~set) == 0;
        if (!is_tile && (w.chunk_sets[behind / kChunk] & ~set) != 0) break;
        behind += is_tile ? kTileBytes : kChunk;
    }
    if (behind == first) return at;
    while (behind < w.size && !begins_char(w, behind)) ++behind;  // a part's start also begins a character
    return behind;
}

// The place after a run of characters of `set`.
CRAYON_DEVICE inline TextCursor skip_set(TextCursor p, PartEnd end, uint32_t set) {
    while (p < end) {
        const uint32_t behind = behind_chunks(*p.work, p.at, set);
        if (behind != p.at) {
            p.at = behind;
            continue;
        }
        const ClassifiedChar c = read_char(p, end);
        if (!(c.set & set)) break;
        p += c.size;
    }
    return p;
}

}  // namespace gpu
}  // namespace crayon
