#include "encode/cutter/seams.h"

#include <algorithm>
#include <memory>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "scan/family_borders.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

bool has_flag(const AddedToken& token, uint32_t flags) {
    return (token.flags & flags) != 0;
}

Border border_at(Bytes text, size_t at) {
    Border border;
    size_t from = at;
    for (uint32_t& c : border.before) {
        if (from == 0) break;
        const uint8_t* p = character_before(text.begin(), text.begin() + from);
        c = character_at(p, text.end()).code_point;
        from = size_t(p - text.begin());
    }
    for (uint32_t& c : border.after) {
        if (at == text.size) break;
        const Character next = character_at(text.begin() + at, text.end());
        c = next.code_point;
        at += next.size;
    }
    return border;
}

// The most steps of one search for a seam. A place can take as many steps as the longest added token has bytes. At the
// limit the search gives up, so that time stays linear in the text.
size_t steps_for(Bytes text) {
    return 65536 + 64 * text.size;
}

}  // namespace

Seams::Seams(const Pipeline& pipeline, const Vocabulary& vocabulary, bool special_as_text, bool with_offsets,
             bool words_only)
    : pipeline_(pipeline),
      vocabulary_(vocabulary),
      special_as_text_(special_as_text),
      words_only_(words_only),
      shifts_(with_offsets && pipeline.normalizer != nullptr && pipeline.normalizer->shifts({})) {
    bool has_digits = false;
    for (const AddedToken& token : vocabulary.added()) {
        Tokens& tokens = has_flag(token, kNormalized) ? normalized_ : plain_;
        const std::string content =
            has_flag(token, kNormalized) ? vocabulary.text_of(token.id) : vocabulary.content_of(token.id);
        tokens.add(content);
        tokens.strip |= has_flag(token, kLstrip | kRstrip);
        tokens.single_word |= has_flag(token, kSingleWord);
        has_digits |= std::any_of(content.begin(), content.end(), [](char c) { return c >= '0' && c <= '9'; });
    }
    groups_digits_ =
        pipeline.scan != nullptr && pipeline.normalizer == nullptr && !has_digits &&
        (pipeline.family == Family::cl100k || pipeline.family == Family::llama3 || pipeline.family == Family::o200k);
    matches_whole_ = !words_only && pipeline.scan != nullptr && pipeline.family == Family::whole && pipeline.matches &&
                     pipeline.normalizer == nullptr && !pipeline.add_prefix_space;
    const bool only_surrounds = surrounds_of(pipeline.post_processor, false).has_value();
    exist_ = words_only ? any_usual() : only_surrounds && (matches_whole_ || any_usual());
}

// Whether a seam exists between words, lines, paragraphs, or sentences of scripts without spaces.
bool Seams::any_usual() const {
    for (const std::string_view text : {"ab cd", "ab\ncd", "ab\n\ncd", "\u4e2d\u6587\u3002\u4e2d\u6587"}) {
        const Bytes bytes(text);
        for (size_t at = 2; at + 2 < bytes.size; ++at) {
            if ((bytes[at] & 0xC0) == 0x80) continue;
            try {
                if (shifts_ && pipeline_.normalizer->shifts(bytes)) continue;
                if (steps_divide(border_at(bytes, at))) return true;
            } catch (const Error&) {
                // A charsmap is damaged at this character. The error is raised again for a text with the character.
            }
        }
    }
    return false;
}

size_t Seams::last(Bytes text, bool continues) const {
    if (!exist_ || text.empty()) return 0;
    if (matches_whole_) return last_match(text);
    size_t steps_left = steps_for(text);
    std::vector<MatchedPart> uncut;
    if (shifts_) uncut = shifted_pieces(text, continues);
    for (size_t at = text.size; at > 0;) {
        at = size_t(character_before(text.begin(), text.begin() + at) - text.begin());
        while (!uncut.empty() && uncut.back().start >= at) uncut.pop_back();
        if (!uncut.empty() && at < uncut.back().stop)
            at = uncut.back().start;
        else if (at > 0 && divides(text, at, &steps_left))
            return at;
    }
    return 0;
}

// A border depends on a few characters before it. An added token depends on as many bytes as the longest one has. A
// group of digits depends on the whole run before it.
size_t Seams::reach() const {
    return std::max(plain_.longest, normalized_.longest) + 4 * Border::kBefore;
}

size_t Seams::last_inside(Bytes part, size_t least) const {
    if (!exist_inside()) return 0;
    size_t first = reach();
    if (groups_digits_)
        while (first < part.size && uint8_t(part[first] - '0') < 10) ++first;
    first = std::max(first, least);
    size_t steps_left = steps_for(part);
    for (size_t at = part.size; at > first;) {
        at = size_t(character_before(part.begin(), part.begin() + at) - part.begin());
        if (at > first && divides(part, at, &steps_left)) return at;
    }
    return 0;
}

// Calls on_plain(start, stop, goes_on) for each piece of `text` between added tokens. Adds `base` to the places. The
// parameter `goes_on` says whether the text may continue. on_plain's says whether the piece may then be longer. Such a
// piece is at the text's end, or before a token with single_word at the end.
template <typename OnPlain>
void Seams::for_each_plain(const AddedMatcher& matcher, Bytes text, size_t base, bool goes_on,
                           OnPlain&& on_plain) const {
    if (matcher.empty()) return on_plain(base, base + text.size, goes_on);
    std::vector<MatchedPart> pieces;
    matcher.split(text, special_as_text_, &pieces);
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].added != kPlainText) continue;
        const bool is_last = pieces[std::min(i + 1, pieces.size() - 1)].stop == text.size;
        on_plain(base + pieces[i].start, base + pieces[i].stop, goes_on && is_last);
    }
}

// Longest match starts anew after each token, so each token's start may be a seam. A match in this text is the one in
// the whole text if as many bytes follow as the longest token has.
size_t Seams::last_match(Bytes text) const {
    std::vector<size_t> starts;
    const auto match = [&](size_t at, size_t stop, bool goes_on) {
        while (at < stop) {
            if (at > 0) starts.push_back(at);
            if (goes_on && stop - at < vocabulary_.longest_token()) break;
            const size_t size = pipeline_.match.at(text.slice(at, stop)).first;
            at += size > 0 ? size : 1;
        }
    };
    for_each_plain(vocabulary_.matcher(), text, 0, true, [&](size_t start, size_t stop, bool goes_on) {
        for_each_plain(vocabulary_.normalized_matcher(), text.slice(start, stop), start, goes_on, match);
    });
    size_t steps_left = steps_for(text);
    for (; !starts.empty(); starts.pop_back()) {
        const size_t at = starts.back();
        if ((text[at] & 0xC0) == 0x80) continue;  // inside a character
        const Border border = border_at(text, at);
        if (plain_.divide(vocabulary_.matcher(), text, at, border, &steps_left) &&
            normalized_.divide(vocabulary_.normalized_matcher(), text, at, border, &steps_left))
            return at;
    }
    return 0;
}

// Returns the pieces whose alignments must not be cut. Up to a seam, the pieces of this text are those of the whole
// text.
std::vector<MatchedPart> Seams::shifted_pieces(Bytes text, bool continues) const {
    std::vector<MatchedPart> pieces;
    for_each_plain(vocabulary_.matcher(), text, 0, true, [&](size_t start, size_t stop, bool goes_on) {
        const bool is_rest = continues && start == 0;
        if (!is_rest && pipeline_.normalizer->shifts(text.slice(start, goes_on ? text.size : stop)))
            pieces.push_back({start, stop, kPlainText});
    });
    return pieces;
}

bool Seams::divides(Bytes text, size_t at, size_t* steps_left) const {
    const Border border = border_at(text, at);
    if (!steps_divide(border) && !ends_digit_group(text, at)) return false;
    return plain_.divide(vocabulary_.matcher(), text, at, border, steps_left) &&
           (pipeline_.normalizer != nullptr ||
            normalized_.divide(vocabulary_.normalized_matcher(), text, at, border, steps_left));
}

bool Seams::steps_divide(Border border) const {
    if (pipeline_.normalizer != nullptr) {
        if (!pipeline_.normalizer->divides(&border)) return false;
        // Only a few characters of the normalized text are known. No token can reach the border if none contains the
        // character before it. The other conditions are those of Tokens::divide.
        if (normalized_.longest > 0) {
            const uint32_t before = border.before[0];
            if (before == kUnknownChar || normalized_.any_has(before)) return false;
            if (normalized_.strip && is_white_space(before)) return false;
            std::string after;
            append_utf8(border.after[0], &after);
            if (normalized_.single_word && is_word_char(before) && normalized_.first_bytes[uint8_t(after[0])])
                return false;
        }
    }
    if (pipeline_.scan != nullptr) {
        if (pipeline_.add_prefix_space && border.after[0] != ' ') return false;
        return family_divides(pipeline_.family, pipeline_.flavor, border) || no_match_reaches_over(border);
    }
    Division division = Division::through;
    if (pipeline_.pre_tokenizer != nullptr) division = pipeline_.pre_tokenizer->divides(&border);
    // Greedy mode joins the pieces again, and later steps may have changed the characters at the border.
    if (division == Division::apart && pipeline_.joins_pieces) return false;
    if (division != Division::through) return division == Division::apart;
    if (pipeline_.model == nullptr) return no_match_reaches_over(border);
    return !words_only_ && pipeline_.model->divides(border);
}

bool Seams::no_match_reaches_over(const Border& border) const {
    const MatchSeams* const seams = pipeline_.seams.get();
    return !words_only_ && seams != nullptr && seams->divide(border);
}

// Whether the number of digits between the start of their run and `at` is a multiple of three. A pretoken ends before
// the run. Added tokens contain no digit, so none ends or begins in it.
bool Seams::ends_digit_group(Bytes text, size_t at) const {
    const auto is_digit = [&](size_t i) { return uint8_t(text[i] - '0') < 10; };
    if (!groups_digits_ || pipeline_.add_prefix_space || !is_digit(at)) return false;
    size_t start = at;
    while (start > 0 && is_digit(start - 1)) --start;
    if ((at - start) % 3 != 0 || start == at) return false;
    if (start == 0) return true;
    const uint8_t* before = character_before(text.begin(), text.begin() + start);
    return char_class(pipeline_.flavor, character_at(before, text.end()).code_point) != CharClass::number;
}

void Seams::Tokens::add(const std::string& content) {
    longest = std::max(longest, content.size());
    first_bytes[uint8_t(content[0])] = true;
    const Bytes bytes(content);
    for (const uint8_t* p = bytes.begin(); p < bytes.end();) {
        const Decoded c = decode_utf8(p, bytes.end());
        if (c.valid && characters.size() <= c.code_point) characters.resize(c.code_point + 1);
        if (c.valid) characters[c.code_point] = true;
        p += c.size;
    }
}

// Added tokens in the parts are those of the whole if none can cross the border or end at it, whatever follows. That
// is, no content begins with text that ends at the border. Skipped tokens count, because they also hide others inside
// them. Three conditions look at neighbours:
// - Stripped white space ends at the border if the character before the border is not white space.
// - A token with single_word that begins at the border depends on the character before it.
// - A token that ends at the border is excluded above.
bool Seams::Tokens::divide(const AddedMatcher& matcher, Bytes text, size_t at, const Border& border,
                           size_t* steps_left) const {
    if (matcher.empty()) return true;
    if (strip && is_white_space(border.before[0])) return false;
    if (single_word && is_word_char(border.before[0]) && first_bytes[text[at]]) return false;
    return !matcher.may_go_on(text.slice(0, at), longest, steps_left);
}

LazySeams::~LazySeams() {
    for (const std::atomic<const Seams*>& made : made_) delete made.load();
}

namespace {

// Two threads may build the seams at once; one result is kept. Building is lock-free, because the child of a fork could
// find a lock taken.
template <typename Make>
const Seams& kept(std::atomic<const Seams*>* place, Make&& make) {
    if (const Seams* const seams = place->load(std::memory_order_acquire)) return *seams;
    std::unique_ptr<const Seams> mine(new Seams(make()));
    const Seams* others = nullptr;
    if (place->compare_exchange_strong(others, mine.get(), std::memory_order_acq_rel)) return *mine.release();
    return *others;
}

}  // namespace

const Seams& LazySeams::get(const Pipeline& pipeline, const Vocabulary& vocabulary, bool special_as_text) const {
    return kept(&made_[special_as_text ? 1 : 0], [&] { return Seams(pipeline, vocabulary, special_as_text, false); });
}

const Seams& LazySeams::of_encodings(const Pipeline& pipeline, const Vocabulary& vocabulary,
                                     bool special_as_text) const {
    return kept(&made_[special_as_text ? 3 : 2],
                [&] { return Seams::of_encodings(pipeline, vocabulary, special_as_text); });
}

}  // namespace crayon
