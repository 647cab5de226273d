// The normalization forms of UAX #15, "Unicode Normalization Forms", with the tables of Hugging Face tokenizers ("the
// reference").
//
// Text is cut at characters that neither move nor combine with earlier ones. A part between two cuts that passes the
// quick check (UAX #15, section 9) is copied. Any other part is decomposed, put in canonical order and, for NFC and
// NFKC, composed.
//
// Example (NFC): "e" and U+0301 form one part and become "é". The next letter begins a new part.
//
// Alignments. The reference counts how many characters of the text each new character replaces. The first character of
// a decomposition consumes its character, its other characters consume nothing, and a composite consumes the sum of its
// parts. New characters take old ones in order. A new character that consumes old ones is aligned with the first of
// these, any other with the last old one that was taken before. So a mark that moved is aligned with the character at
// its new place, as in the reference.
#include "normalizers/normalize_forms.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "crayon/normalizers/normalize.h"
#include "normalizers/text_rewriter.h"
#include "support/bits.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

#include "unicode/nfc_tables.inc"

constexpr uint32_t kClassMask = 0xFF;
constexpr uint32_t kMayCompose = 0x100;  // characters that compose with the ones before them, so that NFC has work

// Tells, by the first two bytes of a non-ASCII character, whether some character with this beginning has certain bits.
struct ActivePairs {
    uint64_t rows[64] = {};

    constexpr explicit ActivePairs(uint32_t bits) {
        constexpr size_t kBlocks = sizeof kNfcBlocks / 64;
        bool is_active[kBlocks] = {};
        for (size_t i = 0; i < sizeof kNfcBlocks; ++i)
            is_active[i / 64] |= (kNfcPropertyValues[kNfcBlocks[i]] & bits) != 0;
        const auto block_at = [&is_active](uint32_t block) {
            return block < sizeof kNfcBlockOf && is_active[kNfcBlockOf[block]];
        };
        for (uint32_t lead = 0; lead < 64; ++lead)
            for (uint32_t next = 0; next < 64; ++next) {
                bool any = false;
                if (lead < 32) {  // two bytes
                    any = (kNfcPropertyValues[kNfcBlocks[kNfcBlockOf[lead] * 64 + next]] & bits) != 0;
                } else if (lead < 48) {  // three
                    any = block_at((lead & 15) << 6 | next);
                } else {
                    for (uint32_t i = 0; i < 64; ++i) any |= block_at((lead & 7) << 12 | next << 6 | i);
                }
                rows[lead] |= uint64_t(any) << next;
            }
    }

    bool at(const uint8_t* p) const { return rows[p[0] & 63] >> (p[1] & 63) & 1; }
};

// The properties of a form.
struct Rules {
    uint32_t needs_work;    // bit of characters that may change, or may change characters before them
    uint32_t joins_before;  // bit of characters that the text must not be cut before
    uint8_t active_lead;    // the lead byte of the first character that can change, move or join others: U+0300, U+00C0
                            // or U+00A0
    bool compose;
    bool compatibility;
    ActivePairs active{needs_work | kClassMask};  // characters with other beginnings neither change nor move
};
constexpr Rules kRules[] = {
    {0x100, 0x200, 0xCC, true, false},    // NFC
    {0x400, 0x200, 0xC3, false, false},   // NFD
    {0x800, 0x2000, 0xC2, true, true},    // NFKC
    {0x1000, 0x2000, 0xC2, false, true},  // NFKD
};
const Rules& rules_of(Form form) {
    return kRules[size_t(form)];
}

// Hangul (The Unicode Standard, section 3.12). The first trailing consonant is kHangulT + 1.
constexpr uint32_t kHangulS = 0xAC00, kHangulL = 0x1100, kHangulV = 0x1161, kHangulT = 0x11A7;
constexpr uint32_t kHangulLCount = 19, kHangulVCount = 21, kHangulTCount = 28;
constexpr uint32_t kHangulSCount = kHangulLCount * kHangulVCount * kHangulTCount;

uint32_t property(uint32_t code_point) {
    if (code_point >= kNfcPropertyLimit) return 0;
    const uint32_t block = kNfcBlockOf[code_point / 64];
    return kNfcPropertyValues[kNfcBlocks[block * 64 + code_point % 64]];
}

// Returns the first character from `p` on that may change, or `end`. Continuation bytes are below every lead byte.
const uint8_t* next_active(const Rules& rules, const uint8_t* p, const uint8_t* end) {
    for (; end - p > 8; p += 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        for (uint64_t leads = bytes_from(rules.active_lead, word); leads != 0; leads &= leads - 1) {
            const uint8_t* const lead = p + lowest_set_bit(leads) / 8;
            if (rules.active.at(lead)) return lead;
        }
    }
    for (; p < end; ++p)
        if (*p >= rules.active_lead && end - p > 1 && rules.active.at(p)) return p;
    return end;
}

// Returns the first character that fails the quick check from `p` on, which is a cut, or `end`.
const uint8_t* find_work(const Rules& rules, const uint8_t* p, const uint8_t* end) {
    while (true) {
        p = next_active(rules, p, end);
        uint32_t previous_class = 0;
        do {
            if (p == end) return end;
            const Character c = character_at(p, end);
            const uint32_t found = property(c.code_point);
            if (found & rules.needs_work) return p;
            const uint32_t combining_class = found & kClassMask;
            if (combining_class != 0 && combining_class < previous_class) return p;
            previous_class = combining_class;
            p += c.size;
        } while (previous_class != 0);
    }
}

const uint8_t* cut_before(const Rules& rules, const uint8_t* begin, const uint8_t* p, const uint8_t* end) {
    while (p > begin) {
        const bool joins = property(character_at(p, end).code_point) & rules.joins_before;
        if (!joins) break;
        p = character_before(begin, p);
    }
    return p;
}

const uint8_t* cut_after(const Rules& rules, const uint8_t* p, const uint8_t* end) {
    while (p < end) {
        const Character c = character_at(p, end);
        if (!(property(c.code_point) & rules.joins_before)) break;
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

// One part of the text between two cuts.
class Decomposition {
  public:
    void decompose(const Rules& rules, const uint8_t* p, const uint8_t* end) {
        pieces_.clear();
        while (p < end) {
            const Character c = character_at(p, end);
            add(c.code_point, rules.compatibility);
            p += c.size;
        }
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

    // In place: a composite replaces its starter, and remaining characters move down. A character is blocked from the
    // starter if the last kept character after the starter has its class or a greater one.
    void compose_pieces() {
        size_t kept = 0;
        size_t starter = SIZE_MAX;
        uint32_t last_class = 0;  // of the last character kept after the starter; 0 if none
        for (const Piece piece : pieces_) {
            const bool blocked = starter == SIZE_MAX || (last_class != 0 && last_class >= piece.combining_class);
            const uint32_t composite = blocked || !(property(piece.code_point) & kMayCompose)
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

    void write(TextRewriter* out) const {
        for (const Piece& piece : pieces_) out->put(piece.code_point, 1 - int32_t(piece.consumed));
    }

  private:
    struct Piece {
        uint32_t code_point;
        uint32_t combining_class;
        uint32_t consumed;  // number of characters of the text that it replaces
    };

    void push(uint32_t code_point, uint32_t consumed) {
        pieces_.push_back({code_point, property(code_point) & kClassMask, consumed});
    }

    void add(uint32_t code_point, bool compatibility) {
        const uint32_t syllable = code_point - kHangulS;
        if (syllable < kHangulSCount) {
            push(kHangulL + syllable / (kHangulVCount * kHangulTCount), 1);
            push(kHangulV + syllable / kHangulTCount % kHangulVCount, 0);
            if (syllable % kHangulTCount != 0) push(kHangulT + syllable % kHangulTCount, 0);
            return;
        }
        if (compatibility && add_parts(code_point, kNfkDecomposed, kNfkPieceStart, kNfkPieces)) return;
        if (add_parts(code_point, kNfcDecomposed, kNfcPieceStart, kNfcPieces)) return;
        push(code_point, 1);
    }

    template <size_t N>
    bool add_parts(uint32_t code_point, const uint32_t (&decomposed)[N], const uint16_t* starts,
                   const uint32_t* parts) {
        const uint32_t* found = std::lower_bound(std::begin(decomposed), std::end(decomposed), code_point);
        if (found == std::end(decomposed) || *found != code_point) return false;
        const size_t index = size_t(found - decomposed);
        for (size_t i = starts[index]; i < starts[index + 1]; ++i) push(parts[i], i == starts[index]);
        return true;
    }

    std::vector<Piece> pieces_;
};

}  // namespace

bool is_form_quick(Form form, Bytes text) {
    return find_work(rules_of(form), text.begin(), text.end()) == text.end();
}

bool to_form(Form form, AlignedText* text) {
    const Rules& rules = rules_of(form);
    const uint8_t* done = reinterpret_cast<const uint8_t*>(text->text.data());
    const uint8_t* const end = done + text->size();
    const uint8_t* work = find_work(rules, done, end);
    if (work == end && unplaced_bytes(*text) == 0) return false;
    TextRewriter out(text);
    Decomposition decomposition;
    for (; work < end; work = find_work(rules, done, end)) {
        const uint8_t* from = cut_before(rules, done, work, end);
        out.keep(done, from);
        done = cut_after(rules, work + character_at(work, end).size, end);
        decomposition.decompose(rules, from, done);
        decomposition.sort();
        if (rules.compose) decomposition.compose_pieces();
        decomposition.write(&out);
    }
    out.keep(done, end);
    out.finish();
    return true;
}

// Parts (see above) are independent, and a part begins at each character that never joins the characters before it. A
// character that is a part by itself and passes the quick check stays unchanged.
bool form_divides(Form form, Border* b) {
    const Rules& rules = rules_of(form);
    const auto begins = [&](uint32_t c) { return c != kUnknownChar && !(property(c) & rules.joins_before); };
    const auto stays = [&](uint32_t c) { return begins(c) && !(property(c) & (rules.needs_work | kClassMask)); };
    // Whether marks after `c` might change it.
    const auto composes = [&](uint32_t c) {
        constexpr uint32_t kDecomposes = kRules[size_t(Form::nfd)].needs_work;
        return rules.compose && (property(c) & kDecomposes || c - kHangulL < kHangulLCount ||
                                 std::binary_search(std::begin(kNfcFirst), std::end(kNfcFirst), c));
    };
    if (!stays(b->before[0])) b->before[0] = kUnknownChar;
    if (b->before[0] == kUnknownChar || !stays(b->before[1])) b->before[1] = kUnknownChar;
    for (size_t i = 0; i < Border::kAfter; ++i) {
        const uint32_t c = b->after[i];
        const bool alone = i + 1 < Border::kAfter && begins(b->after[i + 1]);
        if (stays(c) && (alone || !composes(c))) continue;
        for (size_t k = i; k < Border::kAfter; ++k) b->after[k] = kUnknownChar;
    }
    return b->after[0] != kUnknownChar;
}

bool is_stable_in_nfc(uint32_t code_point) {
    return !(property(code_point) & (rules_of(Form::nfc).needs_work | kClassMask));
}

}  // namespace crayon
