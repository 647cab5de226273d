// Metaspace: spaces become a visible character, which begins the words.
#include <algorithm>
#include <cstring>

#include "pre_tokenizers/pre_tokenizer_common.h"
#include "support/bits.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

class Metaspace final : public PreTokenizer {
  public:
    Metaspace(std::string_view replacement, PrependScheme scheme, bool split)
        : replacement_(replacement), scheme_(scheme), split_(split) {}

    void split(PieceList* list) const override {
        AlignedText& text = list->text;
        const size_t unplaced = text.aligned ? 0 : text.unplaced;
        if (unplaced == 0) {
            rewrite_all(list);
            return;
        }
        // Bytes without a place in the original text are rare, so temporary alignments track them.
        text.aligned = true;
        text.alignments.resize(text.size());
        for (uint32_t i = 0; i < text.size(); ++i)
            text.alignments[i] = i < unplaced ? Alignment{0, 0} : Alignment{i, i + 1};
        rewrite_all(list);
        text.unplaced = unplaced_bytes(text);
        text.aligned = false;
        text.alignments.clear();
    }

    bool needs_alignments() const override { return scheme_ == PrependScheme::first; }
    bool rewrites() const override { return true; }
    Shape shape() const override {
        return replacement_ == kSpaceMark && scheme_ == PrependScheme::always && split_ ? Shape::space_marks
                                                                                        : Shape::other;
    }

    // Before a space or its replacement, no replacement is inserted, so a piece may be cut there.
    Division divides(Border* b) const override {
        const uint32_t replacement = character_at(Bytes(replacement_).begin(), Bytes(replacement_).end()).code_point;
        const bool is_replaced = b->after[0] == ' ' || b->after[0] == replacement;
        if (is_replaced && split_) return Division::apart;
        if (!is_replaced && scheme_ == PrependScheme::always) return Division::none;
        map_border(b, false, [replacement](uint32_t c) { return c == ' ' ? replacement : c; });
        return Division::through;
    }

  private:
    void rewrite_all(PieceList* list) const {
        const PieceList& old = *list;
        // Each space grows by the rest of the replacement, each piece may get one more, and writes may exceed the end
        // by eight bytes.
        size_t size = old.pieces.size() * replacement_.size() + count_gaps(old.pieces) + 8;
        for (const Piece piece : old.pieces) {
            const auto text = old.text.text.begin();
            const size_t spaces = size_t(std::count(text + piece.start, text + piece.end, ' '));
            size += piece.end - piece.start + spaces * (replacement_.size() - 1);
        }
        check_text_size(size);
        AlignedText& spare = list->spare_text;
        spare.aligned = old.text.aligned;
        spare.unplaced = 0;
        spare.text.resize(size);
        spare.alignments.resize(spare.aligned ? size : 0);
        list->spare_pieces.clear();
        size = spare.aligned ? rewrite<true>(list) : rewrite<false>(list);
        spare.text.resize(size);
        if (spare.aligned) spare.alignments.resize(size);
        std::swap(list->text, spare);
        list->pieces.swap(list->spare_pieces);
    }

    bool prepends(const PieceList& list, Piece piece) const {
        if (scheme_ == PrependScheme::never) return false;
        if (scheme_ == PrependScheme::first) {
            const size_t origin = list.text.aligned ? list.text.alignments[piece.start].start : piece.start;
            if (list.base + origin != 0 || list.continues) return false;
        }
        const char* const p = list.text.text.data() + piece.start;
        return *p != ' ' && !is_replacement(p, piece.end - piece.start);
    }

    bool is_replacement(const char* p, size_t left) const {
        return left >= replacement_.size() && std::memcmp(p, replacement_.data(), replacement_.size()) == 0;
    }

    // Writes the new text to spare_text and its pieces to spare_pieces. Returns the text's size.
    template <bool kAligned>
    size_t rewrite(PieceList* list) const {
        const char* const in = list->text.text.data();
        const Alignment* const from = list->text.alignments.data();
        char* const out = list->spare_text.text.data();
        Alignment* const to = list->spare_text.alignments.data();
        const size_t replacement_size = replacement_.size();
        char replacement[4] = {};
        std::memcpy(replacement, replacement_.data(), replacement_size);
        std::vector<Piece>& pieces = list->spare_pieces;
        size_t n = 0;
        size_t start = 0;
        const auto put_replacement = [&](size_t alignment) {
            if (split_ && start < n) {
                pieces.push_back({uint32_t(start), uint32_t(n)});
                start = n;
            }
            std::memcpy(out + n, replacement, 4);
            if (kAligned) std::fill_n(to + n, replacement_size, from[alignment]);
            n += replacement_size;
        };
        uint32_t done = list->pieces.empty() ? 0 : list->pieces.front().start;
        for (const Piece piece : list->pieces) {
            if (piece.start != done) {
                out[n] = kGap;
                if (kAligned) to[n] = {0, 0};
                start = ++n;
            }
            done = piece.end;
            if (prepends(*list, piece)) put_replacement(piece.start);
            for (size_t i = piece.start; i < piece.end;) {
                // Eight bytes at a time, up to the first that may be special.
                while (piece.end - i >= 8) {
                    const size_t plain = plain_bytes(in + i);
                    std::memcpy(out + n, in + i, 8);
                    if (kAligned) std::memcpy(to + n, from + i, 8 * sizeof(Alignment));
                    i += plain;
                    n += plain;
                    if (plain < 8) break;
                }
                if (i == piece.end) break;
                if (in[i] == ' ') {
                    put_replacement(i++);
                } else if (in[i] == replacement[0] && is_replacement(in + i, piece.end - i)) {
                    put_replacement(i);
                    i += replacement_size;
                } else {
                    out[n] = in[i];
                    if (kAligned) to[n] = from[i];
                    ++i;
                    ++n;
                }
            }
            pieces.push_back({uint32_t(start), uint32_t(n)});
            start = n;
        }
        return n;
    }

    // How many of eight bytes precede the first space or first byte of the replacement.
    size_t plain_bytes(const char* p) const {
        constexpr uint64_t kOnes = 0x0101010101010101u;
        uint64_t bytes;
        std::memcpy(&bytes, p, 8);
        const uint64_t spaces = bytes ^ (kOnes * uint8_t(' '));
        const uint64_t firsts = bytes ^ (kOnes * uint8_t(replacement_[0]));
        // The lowest set bit marks the first zero byte; higher bits may be wrong.
        const uint64_t zeros = (((spaces - kOnes) & ~spaces) | ((firsts - kOnes) & ~firsts)) & (kOnes << 7);
        return zeros == 0 ? 8 : lowest_set_bit(zeros) / 8;
    }

    std::string replacement_;  // one character
    PrependScheme scheme_;
    bool split_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_metaspace(std::string_view replacement, PrependScheme scheme, bool split) {
    return std::make_unique<Metaspace>(replacement, scheme, split);
}

}  // namespace crayon
