// Canonical composition (UAX #15, "Unicode Normalization Forms") with the tables of the reference.
//
// Text is cut at characters that neither move nor combine leftwards. A stretch between two cuts that passes the quick
// check (UAX #15, section 9) is copied; any other is decomposed, put in canonical order and composed again.
//
// Alignments. The reference counts, for each character of the result, how many characters of the text it replaces: a
// character consumes itself with the first character of its decomposition, the rest of the decomposition consumes
// nothing, and a composite consumes what its parts do. Results take characters of the text in order: one that consumes
// is aligned with the first character it takes, one that does not with the last character taken before it. So a mark
// that was moved is aligned with the character that stood at its new place, as it is in the reference.
#include <algorithm>
#include <cstring>

#include "crayon/error.h"
#include "crayon/normalize.h"

namespace crayon {
namespace {

#include "nfc_tables.inc"

constexpr uint32_t kClassMask = 0xFF;
constexpr uint32_t kNeedsWork = 0x100;    // may change, or change what is before it (NFC_QC No or Maybe)
constexpr uint32_t kJoinsBefore = 0x200;  // the text cannot be cut before it

// No character below U+0300 is a mark or composes with what is before it, and none changes: lead bytes below this are
// inert, and so are all continuation bytes.
constexpr uint8_t kFirstActiveLead = 0xCC;

// Hangul (The Unicode Standard, section 3.12). The first trailing consonant is kHangulT + 1.
constexpr uint32_t kHangulS = 0xAC00, kHangulL = 0x1100, kHangulV = 0x1161, kHangulT = 0x11A7;
constexpr uint32_t kHangulLCount = 19, kHangulVCount = 21, kHangulTCount = 28;
constexpr uint32_t kHangulSCount = kHangulLCount * kHangulVCount * kHangulTCount;

uint32_t property(uint32_t code_point) {
    if (code_point >= kNfcPropertyLimit) return 0;
    const uint32_t block = kNfcBlockOf[code_point / 64];
    return kNfcPropertyValues[kNfcBlocks[block * 64 + code_point % 64]];
}

struct Character {
    uint32_t code_point;
    uint32_t size;
};

// The text is valid UTF-8 by contract; a sequence cut short by the end is taken as single inert bytes.
Character character_at(const uint8_t* p, const uint8_t* end) {
    const uint32_t lead = p[0];
    if (lead < 0xC0) return {lead, 1};
    const uint32_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (size_t(end - p) < size) return {0, 1};
    uint32_t code_point = lead & (0xFFu >> (size + 1));
    for (uint32_t i = 1; i < size; ++i) code_point = code_point << 6 | (p[i] & 0x3Fu);
    return {code_point, size};
}

void append_utf8(uint32_t c, std::string* out) {
    char bytes[4];
    size_t size = 0;
    if (c < 0x80) {
        bytes[size++] = char(c);
    } else {
        const uint32_t tail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        bytes[size++] = char((0xFF00u >> (tail + 1) & 0xFFu) | c >> (6 * tail));
        for (uint32_t i = tail; i-- > 0;) bytes[size++] = char(0x80u | (c >> (6 * i) & 0x3Fu));
    }
    out->append(bytes, size);
}

// Passes over bytes below kFirstActiveLead, eight at a time.
const uint8_t* skip_inert_bytes(const uint8_t* p, const uint8_t* end) {
    constexpr uint64_t kHigh = 0x8080808080808080u;
    constexpr uint64_t kLift = 0x0101010101010101u * (0x100 - kFirstActiveLead);
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        if (word & ((word & ~kHigh) + kLift) & kHigh) break;
    }
    while (p < end && *p < kFirstActiveLead) ++p;
    return p;
}

// The first character from `p` on, a cut, that fails the quick check, or `end`.
const uint8_t* find_work(const uint8_t* p, const uint8_t* end) {
    uint32_t previous_class = 0;
    while (p < end) {
        if (*p < kFirstActiveLead) {
            p = skip_inert_bytes(p, end);
            previous_class = 0;
            continue;
        }
        const Character c = character_at(p, end);
        const uint32_t found = property(c.code_point);
        if (found & kNeedsWork) return p;
        const uint32_t combining_class = found & kClassMask;
        if (combining_class != 0 && combining_class < previous_class) return p;
        previous_class = combining_class;
        p += c.size;
    }
    return end;
}

const uint8_t* cut_before(const uint8_t* begin, const uint8_t* p, const uint8_t* end) {
    while (p > begin) {
        do --p;
        while (p > begin && (*p & 0xC0) == 0x80);
        if (!(property(character_at(p, end).code_point) & kJoinsBefore)) break;
    }
    return p;
}

const uint8_t* cut_after(const uint8_t* p, const uint8_t* end) {
    while (p < end) {
        const Character c = character_at(p, end);
        if (!(property(c.code_point) & kJoinsBefore)) break;
        p += c.size;
    }
    return p;
}

uint32_t compose(uint32_t first, uint32_t second) {
    if (first - kHangulL < kHangulLCount && second - kHangulV < kHangulVCount)
        return kHangulS + ((first - kHangulL) * kHangulVCount + (second - kHangulV)) * kHangulTCount;
    if (first - kHangulS < kHangulSCount && (first - kHangulS) % kHangulTCount == 0 &&
        second - kHangulT - 1 < kHangulTCount - 1)
        return first + (second - kHangulT);
    const auto range = std::equal_range(std::begin(kNfcFirst), std::end(kNfcFirst), first);
    const uint32_t* from = kNfcSecond + (range.first - kNfcFirst);
    const uint32_t* to = kNfcSecond + (range.second - kNfcFirst);
    const uint32_t* found = std::lower_bound(from, to, second);
    return found != to && *found == second ? kNfcComposite[found - kNfcSecond] : 0;
}

// One stretch of text between two cuts.
class Stretch {
  public:
    void decompose(const uint8_t* p, const uint8_t* end) {
        pieces_.clear();
        starts_.clear();
        begin_ = p;
        while (p < end) {
            const Character c = character_at(p, end);
            starts_.push_back(uint32_t(p - begin_));
            add(c.code_point);
            p += c.size;
        }
        starts_.push_back(uint32_t(end - begin_));
    }

    // Stable, so that marks of one class keep their order.
    void sort() {
        const auto by_class = [](const Piece& a, const Piece& b) { return a.combining_class < b.combining_class; };
        for (size_t i = 0; i < pieces_.size();) {
            if (pieces_[i].combining_class == 0) {
                ++i;
                continue;
            }
            size_t run_end = i + 1;
            bool sorted = true;
            for (; run_end < pieces_.size() && pieces_[run_end].combining_class != 0; ++run_end)
                sorted &= !by_class(pieces_[run_end], pieces_[run_end - 1]);
            if (!sorted)
                std::stable_sort(pieces_.begin() + ptrdiff_t(i), pieces_.begin() + ptrdiff_t(run_end), by_class);
            i = run_end;
        }
    }

    // In place: a composite takes the place of its starter, what stays moves down. A character is blocked from the
    // starter when the character kept just before it (the starter apart) has its class or a greater one.
    void compose_pieces() {
        size_t kept = 0;
        size_t starter = SIZE_MAX;
        uint32_t last_class = 0;  // of the last character kept after the starter; 0 when there is none
        for (const Piece piece : pieces_) {
            const bool blocked = starter == SIZE_MAX || (last_class != 0 && last_class >= piece.combining_class);
            const uint32_t composite = blocked || !(property(piece.code_point) & kNeedsWork)
                                           ? 0
                                           : compose(pieces_[starter].code_point, piece.code_point);
            if (composite != 0) {
                pieces_[starter].code_point = composite;
                pieces_[starter].consumed += piece.consumed;
                continue;
            }
            if (piece.combining_class == 0) starter = kept;
            last_class = piece.combining_class;
            pieces_[kept++] = piece;
        }
        pieces_.resize(kept);
    }

    void append_to(std::string* out, size_t offset, std::vector<Alignment>* alignments) const {
        size_t taken = 0;
        for (const Piece& piece : pieces_) {
            const size_t before = out->size();
            append_utf8(piece.code_point, out);
            if (alignments != nullptr) {
                // The first piece always consumes: a decomposition's first character never sorts behind its others.
                const size_t source = piece.consumed > 0 || taken == 0 ? taken : taken - 1;
                const Alignment alignment{uint32_t(offset + starts_[source]), uint32_t(offset + starts_[source + 1])};
                alignments->insert(alignments->end(), out->size() - before, alignment);
            }
            taken += piece.consumed;
        }
    }

  private:
    struct Piece {
        uint32_t code_point;
        uint32_t combining_class;
        uint32_t consumed;  // characters of the text that it stands for
    };

    void push(uint32_t code_point, uint32_t consumed) {
        pieces_.push_back({code_point, property(code_point) & kClassMask, consumed});
    }

    void add(uint32_t code_point) {
        const uint32_t syllable = code_point - kHangulS;
        if (syllable < kHangulSCount) {
            push(kHangulL + syllable / (kHangulVCount * kHangulTCount), 1);
            push(kHangulV + syllable / kHangulTCount % kHangulVCount, 0);
            if (syllable % kHangulTCount != 0) push(kHangulT + syllable % kHangulTCount, 0);
            return;
        }
        const uint32_t* found = std::lower_bound(std::begin(kNfcDecomposed), std::end(kNfcDecomposed), code_point);
        if (found == std::end(kNfcDecomposed) || *found != code_point) {
            push(code_point, 1);
            return;
        }
        const size_t index = size_t(found - kNfcDecomposed);
        for (size_t i = kNfcPieceStart[index]; i < kNfcPieceStart[index + 1]; ++i)
            push(kNfcPieces[i], i == kNfcPieceStart[index]);
    }

    const uint8_t* begin_ = nullptr;
    std::vector<uint32_t> starts_;  // where each character of the text begins, and the end
    std::vector<Piece> pieces_;
};

void copy(Bytes text, size_t from, size_t to, std::string* out, std::vector<Alignment>* alignments) {
    out->append(reinterpret_cast<const char*>(text.data) + from, to - from);
    if (alignments == nullptr) return;
    alignments->resize(alignments->size() + (to - from));
    Alignment* next = alignments->data() + alignments->size() - (to - from);
    while (from < to) {
        const uint32_t size = character_at(text.data + from, text.data + to).size;
        for (uint32_t i = 0; i < size; ++i) *next++ = {uint32_t(from), uint32_t(from + size)};
        from += size;
    }
}

}  // namespace

bool is_nfc_quick(Bytes text) {
    return find_work(text.begin(), text.end()) == text.end();
}

void normalize_nfc(Bytes text, std::string* out, std::vector<Alignment>* alignments) {
    if (alignments != nullptr && text.size > UINT32_MAX)
        throw Error(ErrorKind::argument, "texts of 4 GiB and more have no offsets");
    out->clear();
    out->reserve(text.size);
    if (alignments != nullptr) {
        alignments->clear();
        alignments->reserve(text.size);
    }
    Stretch stretch;
    const uint8_t* const end = text.end();
    const uint8_t* done = text.begin();
    while (done < end) {
        const uint8_t* work = find_work(done, end);
        const uint8_t* from = work == end ? end : cut_before(done, work, end);
        copy(text, size_t(done - text.data), size_t(from - text.data), out, alignments);
        if (work == end) break;
        done = cut_after(work + character_at(work, end).size, end);
        stretch.decompose(from, done);
        stretch.sort();
        stretch.compose_pieces();
        stretch.append_to(out, size_t(from - text.data), alignments);
    }
}

}  // namespace crayon
