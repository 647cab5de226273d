// Replace: every match becomes the content.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "normalizers/normalizer_common.h"
#include "support/bits.h"
#include "support/size_limits.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

// The new text. A character of the content has the alignment of the last byte it replaces. A character that replaces no
// byte has the alignment of the byte written before, or an empty alignment at the very start.
class Output {
  public:
    Output(const AlignedText& old, size_t capacity) : old_(old), unplaced_(old.unplaced) {
        text_.reserve(capacity);
        if (old.aligned) alignments_.reserve(capacity);
    }

    void keep(size_t from, size_t to) {
        if (from == to) return;
        text_.append(old_.text, from, to - from);
        if (old_.aligned)
            alignments_.insert(alignments_.end(), old_.alignments.begin() + ptrdiff_t(from),
                               old_.alignments.begin() + ptrdiff_t(to));
        else
            count_unplaced(to <= unplaced_ ? to - from : from < unplaced_ ? unplaced_ - from : 0, to > unplaced_);
    }

    void replace(size_t from, size_t to, std::string_view content) {
        if (content.empty()) return;
        if (old_.aligned) {
            const Alignment none{0, 0};
            const Alignment alignment = from < to             ? old_.alignments[to - 1]
                                        : alignments_.empty() ? none
                                                              : alignments_.back();
            alignments_.insert(alignments_.end(), content.size(), alignment);
        } else {
            const bool placed = from < to ? to > unplaced_ : placed_;
            count_unplaced(placed ? 0 : content.size(), placed);
        }
        text_.append(content);
    }

    void move_to(AlignedText* text) {
        text->text.swap(text_);
        text->alignments.swap(alignments_);
        text->unplaced = text->aligned ? 0 : front_;
    }

  private:
    void count_unplaced(size_t bytes, bool placed_after) {
        if (!placed_) front_ += bytes;
        placed_ |= placed_after;
    }

    const AlignedText& old_;
    size_t unplaced_;      // bytes of the old text without a place
    size_t front_ = 0;     // bytes of the new text without a place
    bool placed_ = false;  // whether a byte with a place was written
    std::string text_;
    std::vector<Alignment> alignments_;
};

class ReplaceString final : public Normalizer {
  public:
    ReplaceString(std::string_view pattern, std::string_view content) : pattern_(pattern), content_(content) {}

    void normalize(AlignedText* text) const override {
        const std::string_view old = text->text;
        size_t found = find(old, 0);
        if (found == old.size()) return;
        if (text->aligned || text->unplaced == 0) {
            write(text, found);
            return;
        }
        check_growth(old.size(), count(old, found) * content_.size());
        Output out(*text, old.size() + old.size() / 4);
        size_t done = 0;
        for (; found < old.size(); found = find(old, done)) {
            out.keep(done, found);
            done = found + pattern_.size();
            out.replace(found, done, content_);
        }
        out.keep(done, old.size());
        out.move_to(text);
    }

    bool leaves(Bytes text) const override { return find(text.view(), 0) == text.size; }

    std::optional<SpaceMarks> space_marks() const override {
        if (pattern_ != " " || content_ != kSpaceMark) return std::nullopt;
        return SpaceMarks{false, true};
    }

    bool divides(Border* b) const override {
        const std::vector<uint32_t> pattern = code_points_of(pattern_), content = code_points_of(content_);
        if (content.empty()) return false;
        if (pattern.size() == 1) return replace_char(pattern[0], content, b);
        // No match crosses the border if the pattern has no two neighbours that may be the characters at the border.
        const auto may_be = [](uint32_t known, uint32_t c) { return known == c || known == kUnknownChar; };
        for (size_t i = 1; i < pattern.size(); ++i)
            if (may_be(b->before[0], pattern[i - 1]) && may_be(b->after[0], pattern[i])) return false;
        // A match may begin or end with a character at the border, and then changes it.
        if (may_be(b->after[0], pattern[0])) return false;
        if (may_be(b->before[0], pattern.back())) b->before[0] = kUnknownChar;
        b->before[1] = kUnknownChar;
        for (size_t i = 1; i < Border::kAfter; ++i)
            if (may_be(b->after[i], pattern[0])) {
                for (; i < Border::kAfter; ++i) b->after[i] = kUnknownChar;
            }
        return true;
    }

  private:
    static std::vector<uint32_t> code_points_of(const std::string& text) {
        std::vector<uint32_t> out;
        const Bytes bytes(text);
        for (const uint8_t* p = bytes.begin(); p < bytes.end();) {
            const Character c = character_at(p, bytes.end());
            out.push_back(c.code_point);
            p += c.size;
        }
        return out;
    }

    static bool replace_char(uint32_t wanted, const std::vector<uint32_t>& content, Border* b) {
        if (b->before[0] == wanted) {
            b->before[0] = content.back();
            b->before[1] = content.size() > 1 ? content[content.size() - 2] : kUnknownChar;
        } else if (b->before[0] == kUnknownChar) {
            b->before[1] = kUnknownChar;
        } else if (b->before[1] == wanted) {
            b->before[1] = content.back();
        }
        for (size_t i = 0; i < Border::kAfter; ++i) {
            if (b->after[i] != wanted) continue;
            b->after[i] = content[0];
            if (content.size() == 1) continue;
            for (size_t k = i + 1; k < Border::kAfter; ++k)
                b->after[k] = k - i < content.size() ? content[k - i] : kUnknownChar;
            break;
        }
        return true;
    }

    // Returns the next place where the pattern (not empty) occurs, or the size of the text.
    size_t find(std::string_view text, size_t from) const {
        if (pattern_.size() == 1) {
            const void* at =
                from < text.size() ? std::memchr(text.data() + from, pattern_[0], text.size() - from) : nullptr;
            return at == nullptr ? text.size() : size_t(static_cast<const char*>(at) - text.data());
        }
        const size_t at = text.find(pattern_, from);
        return at == std::string_view::npos ? text.size() : at;
    }

    // Writes the new text. `found` is the first match. Either all bytes have a place in the original text, or
    // alignments tell which have.
    void write(AlignedText* text, size_t found) const {
        const std::string_view old = text->text;
        const size_t matches = count(old, found);
        check_growth(old.size(), matches * content_.size());
        std::string out(old.size() - matches * pattern_.size() + matches * content_.size() + kSlack, '\0');
        std::vector<Alignment> alignments(text->aligned ? out.size() - kSlack : 0);
        if (!text->aligned && pattern_.size() == 1 && content_.size() <= kSlack) {
            write_words(old, out.data());
        } else {
            size_t to = 0;
            size_t done = 0;
            for (; found < old.size(); found = find(old, done)) {
                copy(*text, done, found, to, &out, &alignments);
                to += found - done;
                done = found + pattern_.size();
                std::memcpy(&out[to], content_.data(), content_.size());
                if (text->aligned)
                    std::fill_n(alignments.begin() + ptrdiff_t(to), content_.size(), text->alignments[done - 1]);
                to += content_.size();
            }
            copy(*text, done, old.size(), to, &out, &alignments);
        }
        out.resize(out.size() - kSlack);
        text->text.swap(out);
        text->alignments.swap(alignments);
    }

    static void copy(const AlignedText& text, size_t from, size_t end, size_t to, std::string* out,
                     std::vector<Alignment>* alignments) {
        std::memcpy(&(*out)[to], text.text.data() + from, end - from);
        if (text.aligned)
            std::copy(text.alignments.begin() + ptrdiff_t(from), text.alignments.begin() + ptrdiff_t(end),
                      alignments->begin() + ptrdiff_t(to));
    }

    size_t count(std::string_view text, size_t found) const {
        size_t matches = 0;
        if (pattern_.size() == 1) {
            constexpr uint64_t kLow = 0x7F * kOnes;
            for (; text.size() - found >= 8; found += 8) {
                uint64_t word;
                std::memcpy(&word, text.data() + found, 8);
                const uint64_t other = word ^ kOnes * uint8_t(pattern_[0]);
                // Adds up the high bits, one for each equal byte.
                matches += size_t((~(((other & kLow) + kLow) | other | kLow) >> 7) * kOnes >> 56);
            }
            for (; found < text.size(); ++found) matches += text[found] == pattern_[0];
            return matches;
        }
        for (; found < text.size(); found = find(text, found + pattern_.size())) ++matches;
        return matches;
    }

    // For a pattern of one byte and a content of at most eight. Copies eight bytes at a time, because matches are
    // mostly a word apart. Bytes that are copied beyond a match are overwritten.
    void write_words(std::string_view old, char* to) const {
        const uint64_t wanted = kOnes * uint8_t(pattern_[0]);
        char content[kSlack] = {};
        std::memcpy(content, content_.data(), content_.size());
        const char* p = old.data();
        const char* const end = p + old.size();
        while (end - p >= ptrdiff_t(kSlack)) {
            uint64_t word;
            std::memcpy(&word, p, 8);
            std::memcpy(to, &word, 8);
            const uint64_t other = word ^ wanted;
            const uint64_t equal = (other - kOnes) & ~other & 0x80 * kOnes;  // exact up to the first equal byte
            if (equal == 0) {
                p += 8;
                to += 8;
                continue;
            }
            const auto before = size_t(lowest_set_bit(equal)) / 8;
            std::memcpy(to + before, content, kSlack);
            to += before + content_.size();
            p += before + 1;
        }
        for (; p < end; ++p) {
            if (*p != pattern_[0]) {
                *to++ = *p;
            } else {
                std::memcpy(to, content, kSlack);
                to += content_.size();
            }
        }
    }

    static constexpr size_t kSlack = 8;
    static constexpr uint64_t kOnes = 0x0101010101010101u;

    std::string pattern_;
    std::string content_;
};

class ReplaceRegex final : public Normalizer {
  public:
    ReplaceRegex(Regex pattern, std::string_view content, bool is_spaces)
        : pattern_(std::move(pattern)), content_(content), is_spaces_(is_spaces) {}

    void normalize(AlignedText* text) const override {
        if (text->text.empty()) return;
        std::vector<Regex::Match> matches;
        pattern_.find_all(Bytes(text->text), &matches);
        if (matches.empty()) return;
        check_growth(text->size(), matches.size() * content_.size());
        Output out(*text, text->size() + matches.size() * content_.size());
        size_t done = 0;
        for (const Regex::Match& match : matches) {
            out.keep(done, match.start);
            out.replace(match.start, match.end, content_);
            done = match.end;
        }
        out.keep(done, text->size());
        out.move_to(text);
    }

    bool leaves(Bytes text) const override {
        Regex::Match match;
        return text.empty() || !pattern_.find(text, 0, &match);
    }

    // " {2,}" matches two or more adjacent spaces.
    bool divides(Border* b) const override {
        if (!is_spaces_ || content_.empty() || b->before[0] == kUnknownChar || b->before[0] == ' ') return false;
        b->before[1] = kUnknownChar;
        if (b->after[0] == ' ' && (b->after[1] == ' ' || b->after[1] == kUnknownChar)) {
            if (content_[0] != ' ') return false;
            b->after[1] = kUnknownChar;
        }
        if (b->after[1] == ' ') b->after[1] = kUnknownChar;
        b->after[2] = kUnknownChar;
        return true;
    }

  private:
    Regex pattern_;
    std::string content_;
    bool is_spaces_;
};

}  // namespace

std::unique_ptr<Normalizer> make_replace(std::string_view pattern, std::string_view content) {
    if (pattern.empty()) return make_replace(Regex::literal(pattern), content);
    return std::make_unique<ReplaceString>(pattern, content);
}

std::unique_ptr<Normalizer> make_replace(Regex pattern, std::string_view content, bool is_spaces) {
    return std::make_unique<ReplaceRegex>(std::move(pattern), content, is_spaces);
}

}  // namespace crayon
