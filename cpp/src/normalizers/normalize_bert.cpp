// BertNormalizer.
#include <cstring>
#include <string>

#include "normalizers/normalizer_common.h"
#include "normalizers/text_rewriter.h"
#include "unicode/char_kinds.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

// No Chinese character has a lower lead byte.
constexpr uint8_t kFirstChineseLead = 0xE3;

const uint8_t* find_chinese(const uint8_t* p, const uint8_t* end) {
    while (p < end) {
        if (*p < kFirstChineseLead) {
            p = skip_below(p, end, kFirstChineseLead);
            continue;
        }
        const Character c = character_at(p, end);
        if (char_kind(c.code_point) & kChinese) return p;
        p += c.size;
    }
    return end;
}

// Puts a space before and after each Chinese character of a `text` without alignments. `found` is the first one.
void space_chinese(const uint8_t* found, std::string* text) {
    const uint8_t* const begin = reinterpret_cast<const uint8_t*>(text->data());
    const uint8_t* const end = begin + text->size();
    // A Chinese character of three bytes becomes five bytes.
    std::string out(text->size() + size_t(end - found) / 3 * 2 + 2, '\0');
    char* to = out.data();
    const auto keep = [&to](const uint8_t* from, size_t size) {
        std::memcpy(to, from, size);
        to += size;
    };
    keep(begin, size_t(found - begin));
    while (found < end) {
        const Character c = character_at(found, end);
        const bool is_chinese = (char_kind(c.code_point) & kChinese) != 0;
        if (is_chinese) *to++ = ' ';
        keep(found, c.size);
        if (is_chinese) *to++ = ' ';
        found += c.size;
        if (found == end || *found >= kFirstChineseLead) continue;
        const uint8_t* const next = skip_below(found, end, kFirstChineseLead);
        keep(found, size_t(next - found));
        found = next;
    }
    out.resize(size_t(to - out.data()));
    text->swap(out);
}

void space_chinese(AlignedText* text) {
    const uint8_t* p = reinterpret_cast<const uint8_t*>(text->text.data());
    const uint8_t* const end = p + text->size();
    const uint8_t* found = find_chinese(p, end);
    if (found == end && unplaced_bytes(*text) == 0) return;
    if (!text->aligned && text->unplaced == 0) return space_chinese(found, &text->text);
    TextRewriter out(text);
    for (; found < end; found = find_chinese(p, end)) {
        out.keep(p, found);
        const Character c = character_at(found, end);
        out.put(' ', 0);
        out.put(c.code_point, 1);
        out.put(' ', 1);
        p = found + c.size;
    }
    out.keep(p, end);
    out.finish();
}

// Updates a border: a Chinese character becomes three characters, because it gets a space before and after it.
void space_chinese(Border* b) {
    const auto is_chinese = [](uint32_t c) { return c != kUnknownChar && (char_kind(c) & kChinese) != 0; };
    if (is_chinese(b->before[0])) {
        b->before[1] = b->before[0];
        b->before[0] = ' ';
    } else if (b->before[0] == kUnknownChar) {
        b->before[1] = kUnknownChar;
    } else if (is_chinese(b->before[1])) {
        b->before[1] = ' ';
    }
    for (size_t i = 0; i < Border::kAfter; ++i) {
        if (!is_chinese(b->after[i])) continue;
        for (size_t k = Border::kAfter - 1; k > i + 1; --k) b->after[k] = kUnknownChar;
        if (i + 1 < Border::kAfter) b->after[i + 1] = b->after[i];
        b->after[i] = ' ';
        break;
    }
}

class Bert final : public Normalizer {
  public:
    explicit Bert(const BertOptions& options) : options_(options) {}

    void normalize(AlignedText* text) const override {
        // Skips steps that would change nothing, unless they would fail.
        const uint32_t kinds = unplaced_bytes(*text) == 0 ? kinds_in(Bytes(text->text)) : ~0u;
        if (options_.clean_text) {
            if (kinds & kBertRemoved) remove_kinds(kBertRemoved, text);
            if (kinds & kBertSpace) blank_kinds(kBertSpace, text);
        }
        if (options_.handle_chinese_chars && (kinds & kChinese)) space_chinese(text);
        if (options_.strip_accents && (to_form(Form::nfd, text) || (kinds & kNonspacingMark)))
            remove_kinds(kNonspacingMark, text);
        if (options_.lowercase) lowercase(text);
    }

    bool divides(Border* border) const override {
        if (options_.clean_text && !(remove_kinds(kBertRemoved, border) && blank_kinds(kBertSpace, border)))
            return false;
        if (options_.handle_chinese_chars) space_chinese(border);
        if (options_.strip_accents && !(form_divides(Form::nfd, border) && remove_kinds(kNonspacingMark, border)))
            return false;
        return !options_.lowercase || lowercase(border);
    }

    bool leaves(Bytes text) const override { return changes_nothing(text, kBertRemoved | kBertSpace); }
    // clean_text makes spaces of white-space characters only, and removes others.
    bool keeps_words(Bytes text) const override { return changes_nothing(text, kBertRemoved); }

  private:
    bool changes_nothing(Bytes text, uint32_t cleaned) const {
        const uint32_t kinds = (options_.clean_text ? cleaned : 0) | (options_.handle_chinese_chars ? kChinese : 0) |
                               (options_.strip_accents ? kNonspacingMark : 0);
        if (options_.lowercase && has_uppercase(text)) return false;
        if (kinds != 0 && has_kinds(kinds, text)) return false;
        return !options_.strip_accents || is_form_quick(Form::nfd, text);
    }

    BertOptions options_;
};

}  // namespace

std::unique_ptr<Normalizer> make_bert(const BertOptions& options) {
    return std::make_unique<Bert>(options);
}

}  // namespace crayon
