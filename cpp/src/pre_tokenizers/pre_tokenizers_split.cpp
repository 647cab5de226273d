// Split and CharDelimiterSplit: cut at matches of a string or regular expression, by a behavior.
#include <cstring>

#include "crayon/regex/regex.h"
#include "pre_tokenizers/pre_tokenizer_common.h"
#include "scan/family_borders.h"
#include "unicode/class_lookup.h"

namespace crayon {
namespace {

// Finds a string in linear time, whatever the string and the text (Knuth, Morris and Pratt).
class SplitLiteral final : public PreTokenizer {
  public:
    SplitLiteral(std::string_view text, Behavior behavior, bool invert)
        : text_(text), borders_(text.size() + 1), behavior_(behavior), invert_(invert) {
        // borders_[n]: the longest proper prefix of the first n bytes that is also their suffix.
        size_t border = 0;
        for (size_t i = 1; i < text_.size(); ++i) {
            while (border > 0 && text_[i] != text_[border]) border = borders_[border];
            if (text_[i] == text_[border]) ++border;
            borders_[i + 1] = border;
        }
    }

    void split(PieceList* list) const override {
        if (text_.empty())
            cut_by(list, behavior_, invert_, [](Bytes bytes, auto& event) { match_nothing(bytes, event); });
        else
            cut_by(list, behavior_, invert_, [this](Bytes bytes, auto& event) { match_text(bytes, event); });
    }

    bool add_needed(std::vector<Regex::Needed>* all) const override {
        if (text_.empty() || invert_) return false;
        all->push_back({text_, {}, false});
        return true;
    }

    // No match crosses the border if the string has no two neighbours that may be the characters at the border. If, in
    // addition, no match ends or begins at the border, the text before it stays with the match before, and the text
    // after it with the match after.
    Division divides(Border* b) const override {
        std::vector<uint32_t> chars;
        const Bytes text(text_);
        for (const uint8_t* p = text.begin(); p < text.end();) {
            const Decoded c = decode_utf8(p, text.end());
            chars.push_back(c.code_point);
            p += c.size;
        }
        if (chars.empty() || invert_ || b->before[0] == kUnknownChar) return Division::none;
        const bool ends = b->before[0] == chars.back(), begins = b->after[0] == chars[0];
        if (chars.size() == 1 && (ends || begins)) {
            switch (behavior_) {
                case Behavior::removed:
                case Behavior::isolated:
                    return Division::apart;
                case Behavior::merged_with_previous:
                    return ends ? Division::apart : Division::none;
                case Behavior::merged_with_next:
                    return begins ? Division::apart : Division::none;
                case Behavior::contiguous:
                    return ends != begins ? Division::apart : Division::none;
            }
        }
        for (size_t i = 1; i < chars.size(); ++i)
            if (b->before[0] == chars[i - 1] && b->after[0] == chars[i]) return Division::none;
        return ends || begins ? Division::none : Division::through;
    }

  private:
    // The empty string matches before each character and at the end.
    template <typename Event>
    static void match_nothing(Bytes bytes, Event& event) {
        size_t start = 0;
        event(start, start, true);
        for (size_t i = 1; i <= bytes.size; ++i) {
            if (i < bytes.size && is_continuation(bytes[i])) continue;
            event(start, i, false);
            event(i, i, true);
            start = i;
        }
    }

    template <typename Event>
    void match_text(Bytes bytes, Event& event) const {
        size_t start = 0;    // end of the last match
        size_t matched = 0;  // bytes of text_ that end at i
        for (size_t i = 0; i < bytes.size; ++i) {
            if (matched == 0) {
                const void* first = std::memchr(bytes.data + i, text_[0], bytes.size - i);
                if (first == nullptr) break;
                i = size_t(static_cast<const uint8_t*>(first) - bytes.data);
            }
            const char byte = char(bytes[i]);
            while (matched > 0 && byte != text_[matched]) matched = borders_[matched];
            if (byte == text_[matched]) ++matched;
            if (matched < text_.size()) continue;
            const size_t end = i + 1;
            if (start < end - matched) event(start, end - matched, false);
            event(end - matched, end, true);
            start = end;
            matched = 0;
        }
        if (start < bytes.size) event(start, bytes.size, false);
    }

    std::string text_;
    std::vector<size_t> borders_;
    Behavior behavior_;
    bool invert_;
};

// A Split by a published pattern, which a scanner finds. The matches cover all text.
class SplitFamily final : public PreTokenizer {
  public:
    SplitFamily(Family family, const PreTokenizerOptions& options, Behavior behavior, bool invert)
        : family_(family),
          flavor_(options.flavor),
          scan_(options.kernels.scanners.of(family)),
          behavior_(behavior),
          invert_(invert) {}

    Division divides(Border* border) const override {
        return keeps_matches() && family_divides(family_, flavor_, *border) ? Division::apart : Division::none;
    }

    void split(PieceList* list) const override {
        if (keeps_matches()) {
            cut_each(list, [scan = scan_](Bytes bytes, auto emit) { scan_all(scan, bytes, emit); });
        } else {
            cut_by(list, behavior_, invert_, [scan = scan_](Bytes bytes, auto& event) {
                scan_all(scan, bytes, [&event](size_t start, size_t end) { event(start, end, true); });
            });
        }
    }

  private:
    bool keeps_matches() const {
        return behavior_ == Behavior::isolated || (behavior_ == Behavior::removed && invert_);
    }

    Family family_;
    Flavor flavor_;
    ScanFunction scan_;
    Behavior behavior_;
    bool invert_;
};

class SplitRegex final : public PreTokenizer {
  public:
    SplitRegex(std::string_view pattern, Behavior behavior, bool invert)
        : regex_(Regex::compile(pattern)), behavior_(behavior), invert_(invert) {}

    void split(PieceList* list) const override {
        std::vector<Regex::Match> matches;
        cut_by(list, behavior_, invert_, [this, &matches](Bytes bytes, auto& event) {
            matches.clear();
            regex_.find_all(bytes, &matches);
            size_t start = 0;
            for (const Regex::Match& match : matches) {
                if (start != match.start) event(start, match.start, false);
                event(match.start, match.end, true);
                start = match.end;
            }
            if (start != bytes.size) event(start, bytes.size, false);
        });
    }

    bool add_needed(std::vector<Regex::Needed>* all) const override {
        std::optional<Regex::Needed> needed = regex_.needed();
        if (invert_ || !needed) return false;
        all->push_back(std::move(*needed));
        return true;
    }

  private:
    Regex regex_;
    Behavior behavior_;
    bool invert_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_split_literal(std::string_view text, Behavior behavior, bool invert) {
    return std::make_unique<SplitLiteral>(text, behavior, invert);
}

std::unique_ptr<PreTokenizer> make_split_regex(std::string_view pattern, Behavior behavior, bool invert,
                                               const PreTokenizerOptions& options) {
    Family family;
    if (family_of_pattern(pattern, options.flavor, &family))
        return std::make_unique<SplitFamily>(family, options, behavior, invert);
    if (options.flavor != Flavor::oniguruma && !is_read_alike(pattern))
        throw Error(ErrorKind::unsupported, "a pattern without a scanner, for another engine than Oniguruma");
    return std::make_unique<SplitRegex>(pattern, behavior, invert);
}

}  // namespace crayon
