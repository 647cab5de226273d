#include "normalizers/piece_normalizer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "crayon/cartridge/double_array.h"
#include "normalizers/charsmap.h"
#include "support/size_limits.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

// The new text. A character is aligned with all characters that it replaces; an inserted character gets its neighbour's
// alignment.
class Written {
  public:
    explicit Written(const AlignedText& old) : old_(old) { text_.reserve(old.size() + old.size() / 2); }

    void put(std::string_view made, size_t from, size_t to) {
        check_growth(old_.size(), text_.size() + made.size());
        text_.append(made);
        if (old_.aligned)
            alignments_.insert(alignments_.end(), made.size(),
                               {old_.alignments[from].start, old_.alignments[to - 1].end});
    }

    // Copies unchanged text.
    void copy(size_t from, size_t to) {
        check_growth(old_.size(), text_.size() + (to - from));
        text_.append(old_.text, from, to - from);
        if (old_.aligned)
            alignments_.insert(alignments_.end(), old_.alignments.begin() + ptrdiff_t(from),
                               old_.alignments.begin() + ptrdiff_t(to));
    }

    // Drops `what` from the end, repeatedly.
    void trim(std::string_view what) {
        size_t size = text_.size();
        while (size >= what.size() && std::string_view(text_).substr(size - what.size(), what.size()) == what)
            size -= what.size();
        text_.resize(size);
        if (old_.aligned) alignments_.resize(size);
    }

    void move_to(AlignedText* text) {
        text->text.swap(text_);
        text->alignments.swap(alignments_);
        text->unplaced = 0;
    }

  private:
    const AlignedText& old_;
    std::string text_;
    std::vector<Alignment> alignments_;
};

class PieceNormalizer final : public Normalizer {
  public:
    explicit PieceNormalizer(const PieceNormalizerOptions& options) : options_(options) {
        options_.user_defined.clear();
        if (!options.charsmap.empty()) map_.emplace(options.charsmap);
        std::vector<std::pair<std::string_view, int32_t>> keys;
        for (const std::string_view piece : options.user_defined) keys.emplace_back(piece, 0);
        sort_keys(&keys);
        if (!keys.empty()) pieces_ = build_double_array(keys);
        for (uint32_t byte = 0; byte < 256; ++byte) {
            const DoubleArrayView pieces = view_of(pieces_);
            begins_[byte] = pieces.size > 0 && pieces.step(0, uint8_t(byte)) >= 0;
            if (byte < 0x80 && map_ && !begins_[byte]) begins_[byte] = map_->begins_with_ascii(uint8_t(byte));
        }
    }

    void normalize(AlignedText* text) const override {
        const Bytes old(text->text);
        if (old.empty()) return;
        size_t at = 0;
        while (options_.remove_extra_whitespaces && at < old.size) {
            const Taken taken = take(old, at);
            if (taken.made != " ") break;
            at += taken.size;
        }
        Written out(*text);
        if (at < old.size) write(old, at, &out);
        out.move_to(text);
    }

    bool leaves(Bytes text) const override { return text.empty(); }

  private:
    struct Taken {
        std::string_view made;
        size_t size;  // in bytes of the text
    };

    // Whether `at` has an ASCII byte that take() would return unchanged.
    bool is_plain(Bytes text, size_t at) const {
        const uint8_t byte = text[at];
        return byte < 0x80 && !begins_[byte] && (!map_ || at + 1 == text.size || text[at + 1] < 0x80);
    }

    // The next output at a place: a user-defined piece, the replacement of the longest rule, or a character.
    Taken take(Bytes text, size_t at) const {
        const uint8_t byte = text[at];
        if (is_plain(text, at)) return {text.view().substr(at, 1), 1};
        const Bytes rest = text.slice(at, text.size);
        if (begins_[byte] && pieces_size() > 0)
            if (const size_t size = view_of(pieces_).longest_match(rest).first; size > 0)
                return {rest.view().substr(0, size), size};
        std::string_view made;
        if (map_)
            if (const size_t size = map_->find_longest(rest.begin(), rest.end(), &made); size > 0) return {made, size};
        const size_t size = char_size(text, at);
        return {rest.view().substr(0, size), size};
    }
    size_t pieces_size() const { return pieces_.base.size(); }

    void write(Bytes old, size_t at, Written* out) const {
        const std::string_view space = options_.escape_whitespaces ? kSpaceMark : std::string_view(" ");
        const bool prefixed = options_.add_dummy_prefix && !options_.treat_whitespace_as_suffix;
        if (prefixed) out->put(space, at, at + char_size(old, at));
        bool after_space = options_.remove_extra_whitespaces;
        size_t last = at;
        while (at < old.size) {
            size_t end = at;
            while (end < old.size && old[end] != ' ' && is_plain(old, end)) ++end;
            if (end > at) {
                out->copy(at, end);
                after_space = false;
                last = end - 1;
                at = end;
                continue;
            }
            const auto [whole, size] = take(old, at);
            std::string_view made = whole;
            while (after_space && !made.empty() && made[0] == ' ') made.remove_prefix(1);
            if (!made.empty()) {
                put_escaped(made, space, at, at + size, out);
                after_space = options_.remove_extra_whitespaces && made.back() == ' ';
            }
            last = at;
            at += size;
        }
        if (options_.remove_extra_whitespaces) out->trim(space);
        if (options_.add_dummy_prefix && !prefixed) out->put(space, last, old.size);
    }

    static void put_escaped(std::string_view made, std::string_view space, size_t from, size_t to, Written* out) {
        for (;;) {
            const size_t found = made.find(' ');
            if (found != 0) out->put(made.substr(0, found), from, to);
            if (found == std::string_view::npos) return;
            out->put(space, from, to);
            made.remove_prefix(found + 1);
            if (made.empty()) return;
        }
    }

    PieceNormalizerOptions options_;
    std::optional<Charsmap> map_;
    DoubleArray pieces_;              // user-defined
    std::array<bool, 256> begins_{};  // whether a piece begins with the byte, or a rule with ASCII bytes from it on
};

}  // namespace

std::unique_ptr<Normalizer> make_piece_normalizer(const PieceNormalizerOptions& options) {
    return std::make_unique<PieceNormalizer>(options);
}

}  // namespace crayon
