// ByteLevel: a space before each piece, GPT-2's pattern, and the byte-level alphabet.
#include <array>
#include <cstring>

#include "pre_tokenizers/pre_tokenizer_common.h"
#include "scan/family_borders.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

// The spelling of a byte in UTF-8: one or two bytes.
struct Spelling {
    char bytes[2];
    uint8_t size;
};

const std::array<Spelling, 256>& spellings() {
    static const std::array<Spelling, 256> table = [] {
        std::array<Spelling, 256> t{};
        for (size_t b = 0; b < 256; ++b) {
            const uint32_t c = byte_level_char(uint8_t(b));
            if (c < 0x80)
                t[b] = {{char(c), 0}, 1};
            else
                t[b] = {{char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))}, 2};
        }
        return t;
    }();
    return table;
}

size_t total_size(const PieceList& list) {
    size_t size = 0;
    for (const Piece piece : list.pieces) size += piece.end - piece.start;
    return size + count_gaps(list.pieces);
}

// Puts a space before each piece that has none, aligned with the next character.
void add_spaces(PieceList* list) {
    const std::string& old = list->text.text;
    size_t lacking = 0;
    for (const Piece piece : list->pieces) lacking += old[piece.start] != ' ';
    if (lacking == 0) return;
    const size_t size = total_size(*list) + lacking;
    check_text_size(size);
    const bool aligned = list->text.aligned;
    AlignedText& spare = list->spare_text;
    spare.text.clear();
    spare.text.reserve(size);
    spare.alignments.clear();
    if (aligned) spare.alignments.reserve(size);
    spare.unplaced = 0;
    uint32_t done = list->pieces.front().start;
    for (Piece& piece : list->pieces) {
        if (piece.start != done) {
            spare.text.push_back(kGap);
            if (aligned) spare.alignments.push_back({0, 0});
        }
        done = piece.end;
        const uint32_t start = uint32_t(spare.text.size());
        const bool lacks = old[piece.start] != ' ';
        if (lacks) spare.text.push_back(' ');
        spare.text.append(old, piece.start, piece.end - piece.start);
        if (aligned) {
            const auto first = list->text.alignments.begin();
            if (lacks) spare.alignments.push_back(first[piece.start]);
            spare.alignments.insert(spare.alignments.end(), first + piece.start, first + piece.end);
        }
        const size_t unplaced = list->text.unplaced;
        if (piece.start < unplaced) {
            const size_t cut_off = piece.end > unplaced ? piece.end - unplaced : 0;
            spare.unplaced = spare.text.size() - cut_off;
        }
        piece = {start, uint32_t(spare.text.size())};
    }
    spare.aligned = aligned;
    std::swap(list->text, spare);
}

template <bool kAligned>
void spell_pieces(PieceList* list) {
    const std::array<Spelling, 256>& table = spellings();
    const char* const old = list->text.text.data();
    const Alignment* const from = list->text.alignments.data();
    AlignedText& spare = list->spare_text;
    char* const begin = spare.text.data();
    char* out = begin;
    Alignment* aligned = spare.alignments.data();
    uint32_t done = list->pieces.empty() ? 0 : list->pieces.front().start;
    for (Piece& piece : list->pieces) {
        if (piece.start != done) {
            *out++ = kGap;
            if (kAligned) *aligned++ = {0, 0};
        }
        done = piece.end;
        const uint32_t start = uint32_t(out - begin);
        for (size_t i = piece.start; i < piece.end; ++i) {
            const Spelling& spelling = table[uint8_t(old[i])];
            std::memcpy(out, spelling.bytes, 2);
            out += spelling.size;
            if (kAligned) {
                for (int k = 0; k < spelling.size; ++k) *aligned++ = from[i];
            }
        }
        piece = {start, uint32_t(out - begin)};
    }
}

// Replaces each byte by its character. The characters of one old character share its alignment.
void spell(PieceList* list) {
    size_t size = count_gaps(list->pieces);
    for (const Piece piece : list->pieces) {
        for (size_t i = piece.start; i < piece.end; ++i) size += spellings()[uint8_t(list->text.text[i])].size;
    }
    check_text_size(size);
    AlignedText& spare = list->spare_text;
    spare.aligned = list->text.aligned;
    spare.unplaced = 0;
    spare.text.resize(size + 1);  // room to write two bytes for the last spelling
    spare.alignments.resize(spare.aligned ? size : 0);
    if (spare.aligned)
        spell_pieces<true>(list);
    else
        spell_pieces<false>(list);
    spare.text.resize(size);
    std::swap(list->text, spare);
}

// spell() for a text that begins with inserted bytes, which have no place in the original text. As in the reference, a
// piece of inserted bytes only is spelled and then repeated unspelled. Where a piece has inserted bytes and then
// others, the reference panics.
void spell_unplaced(PieceList* list, size_t unplaced, bool raw) {
    const AlignedText& old = list->text;
    AlignedText& spare = list->spare_text;
    spare.aligned = old.aligned;
    spare.unplaced = 0;
    spare.text.clear();
    spare.alignments.clear();
    const auto put = [&spare](const char* bytes, size_t size, Alignment alignment) {
        spare.text.append(bytes, size);
        if (spare.aligned) spare.alignments.insert(spare.alignments.end(), size, alignment);
    };
    uint32_t done = list->pieces.front().start;
    for (Piece& piece : list->pieces) {
        if (piece.start != done) put(&kGap, 1, {0, 0});
        done = piece.end;
        const size_t start = spare.text.size();
        const bool doubled = piece.start < unplaced;
        if (doubled && piece.end > unplaced)
            throw Error(ErrorKind::argument,
                        "ByteLevel cannot take a piece that a normalizer began before the first character of the text");
        for (size_t i = piece.start; i < piece.end; ++i) {
            const Alignment alignment = spare.aligned ? old.alignments[i] : Alignment{0, 0};
            const Spelling& spelling = spellings()[uint8_t(old.text[i])];
            if (raw && doubled && spelling.bytes[0] != old.text[i])
                throw Error(ErrorKind::argument, "ByteLevel cannot spell text that a normalizer inserted");
            if (raw)
                put(&old.text[i], 1, alignment);
            else
                put(spelling.bytes, spelling.size, alignment);
        }
        if (doubled) {
            put(&old.text[piece.start], piece.end - piece.start, Alignment{0, 0});
            if (!spare.aligned) spare.unplaced = spare.text.size();
        }
        check_text_size(spare.text.size());
        piece = {uint32_t(start), uint32_t(spare.text.size())};
    }
    std::swap(list->text, spare);
}

class ByteLevel final : public PreTokenizer {
  public:
    ByteLevel(bool add_prefix_space, ScanFunction scan, Flavor flavor, bool raw)
        : add_prefix_space_(add_prefix_space), raw_(raw), scan_(scan), flavor_(flavor) {}

    bool rewrites() const override { return true; }

    // No space is put before another space.
    Division divides(Border* border) const override {
        if (add_prefix_space_ && border->after[0] != ' ') return Division::none;
        if (scan_ == nullptr) return raw_ ? Division::through : Division::none;
        return family_divides(Family::gpt2, flavor_, *border) ? Division::apart : Division::none;
    }

    void split(PieceList* list) const override {
        if (add_prefix_space_) add_spaces(list);
        if (scan_ != nullptr) cut_each(list, [scan = scan_](Bytes bytes, auto emit) { scan_all(scan, bytes, emit); });
        const size_t unplaced = list->pieces.empty() ? 0 : unplaced_bytes(list->text);
        if (unplaced > 0)
            spell_unplaced(list, unplaced, raw_);
        else if (!raw_)
            spell(list);
    }

  private:
    bool add_prefix_space_;
    bool raw_;
    ScanFunction scan_;  // null: no pattern
    Flavor flavor_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex, bool raw,
                                              const PreTokenizerOptions& options) {
    const ScanFunction scan = use_regex ? options.kernels.scanners.of(Family::gpt2) : nullptr;
    return std::make_unique<ByteLevel>(add_prefix_space, scan, options.flavor, raw);
}

}  // namespace crayon
