#include "crayon/normalizers/normalizers.h"

#include <string>
#include <utility>
#include <vector>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "normalizers/normalizer_common.h"
#include "support/base64.h"
#include "support/size_limits.h"
#include "unicode/byte_level.h"
#include "unicode/char_kinds.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

using json::Value;

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorKind::vocabulary, "normalizer " + message);
}

class FormNormalizer final : public Normalizer {
  public:
    explicit FormNormalizer(Form form) : form_(form) {}
    void normalize(AlignedText* text) const override { to_form(form_, text); }
    bool takes_any_text() const override { return true; }
    bool leaves(Bytes text) const override { return is_form_quick(form_, text); }
    bool divides(Border* border) const override { return form_divides(form_, border); }

  private:
    Form form_;
};

class Nmt final : public Normalizer {
  public:
    void normalize(AlignedText* text) const override {
        remove_kinds(kNmtRemoved, text);
        blank_kinds(kNmtSpace, text);
    }
    bool leaves(Bytes text) const override { return !has_kinds(kNmtRemoved | kNmtSpace, text); }
    bool divides(Border* border) const override {
        return remove_kinds(kNmtRemoved, border) && blank_kinds(kNmtSpace, border);
    }
};

class StripAccents final : public Normalizer {
  public:
    void normalize(AlignedText* text) const override { remove_kinds(kCombiningMark, text); }
    bool leaves(Bytes text) const override { return !has_kinds(kCombiningMark, text); }
    bool divides(Border* border) const override { return remove_kinds(kCombiningMark, border); }
};

class Lowercase final : public Normalizer {
  public:
    void normalize(AlignedText* text) const override { lowercase(text); }
    bool leaves(Bytes text) const override { return !has_uppercase(text); }
    bool divides(Border* border) const override { return lowercase(border); }
};

class Strip final : public Normalizer {
  public:
    Strip(bool left, bool right) : left_(left), right_(right) {}
    void normalize(AlignedText* text) const override { strip(left_ && !text->continues, right_, text); }
    bool leaves(Bytes text) const override { return !is_strippable(left_, right_, text); }
    // Stripping from either end stops at the character before the border, at the latest.
    bool divides(Border* border) const override {
        const uint32_t last = border->before[0];
        return last != kUnknownChar && !is_white_space(last);
    }

  private:
    bool left_, right_;
};

class Prepend final : public Normalizer {
  public:
    explicit Prepend(std::string_view what) : what_(what) {}
    void normalize(AlignedText* text) const override {
        if (!text->continues) prepend(what_, text);
    }
    bool leaves(Bytes text) const override { return text.empty(); }
    std::optional<SpaceMarks> space_marks() const override {
        return what_ == kSpaceMark ? std::optional<SpaceMarks>({true, false}) : std::nullopt;
    }
    bool divides(Border* border) const override {
        border->before[1] = kUnknownChar;  // the character before may be prepended text
        return !what_.empty();
    }

  private:
    std::string what_;
};

class ByteLevel final : public Normalizer {
  public:
    void normalize(AlignedText* text) const override { spell_bytes(text); }
    bool leaves(Bytes text) const override {
        for (const uint8_t byte : text)
            if (byte >= 0x80 || byte_level_char(byte) != byte) return false;
        return true;
    }
};

class Sequence final : public Normalizer {
  public:
    explicit Sequence(std::vector<std::unique_ptr<Normalizer>> parts) : parts_(std::move(parts)) {}
    void normalize(AlignedText* text) const override {
        const size_t before = text->size();
        for (const auto& part : parts_) {
            part->normalize(text);
            check_growth(before, text->size());
        }
    }
    bool leaves(Bytes text) const override {
        for (const auto& part : parts_)
            if (!part->leaves(text)) return false;
        return true;
    }
    std::optional<SpaceMarks> space_marks() const override {
        SpaceMarks all{false, false};
        for (const auto& part : parts_) {
            const std::optional<SpaceMarks> marks = part->space_marks();
            if (!marks || (marks->prepends && all.prepends)) return std::nullopt;
            all.prepends |= marks->prepends;
            all.replaces |= marks->replaces;
        }
        return all;
    }
    bool divides(Border* border) const override {
        for (const auto& part : parts_)
            if (!part->divides(border)) return false;
        return true;
    }
    bool shifts(Bytes text) const override {
        // Only the first step's text is known here. Later steps are asked about any text.
        for (size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i]->shifts(i == 0 ? text : Bytes())) return true;
        return false;
    }

  private:
    std::vector<std::unique_ptr<Normalizer>> parts_;
};

// A required field.
const Value& field(const Value& component, const char* type, const char* name) {
    const Value* found = component.find(name);
    if (found == nullptr) refuse(std::string(type) + ": missing field `" + name + "`");
    return *found;
}

bool flag(const Value& component, const char* type, const char* name) {
    return field(component, type, name).as_bool((std::string("normalizer ") + type + ": " + name).c_str());
}

std::string_view text_field(const Value& component, const char* type, const char* name) {
    return field(component, type, name).as_string((std::string("normalizer ") + type + ": " + name).c_str());
}

std::unique_ptr<Normalizer> read_bert(const Value& component) {
    BertOptions options{};
    options.clean_text = flag(component, "BertNormalizer", "clean_text");
    options.handle_chinese_chars = flag(component, "BertNormalizer", "handle_chinese_chars");
    options.lowercase = flag(component, "BertNormalizer", "lowercase");
    const Value* strip_accents = component.find("strip_accents");
    options.strip_accents = strip_accents == nullptr || strip_accents->is_null()
                                ? options.lowercase
                                : strip_accents->as_bool("normalizer BertNormalizer: strip_accents");
    return make_bert(options);
}

std::unique_ptr<Normalizer> read_strip(const Value& component) {
    const bool left = flag(component, "Strip", "strip_left");
    return std::make_unique<Strip>(left, flag(component, "Strip", "strip_right"));
}

std::unique_ptr<Normalizer> read_sequence(const Value& component) {
    std::vector<std::unique_ptr<Normalizer>> parts;
    for (const Value& part : field(component, "Sequence", "normalizers").as_array("normalizer Sequence: normalizers"))
        parts.push_back(make_normalizer(part));
    return std::make_unique<Sequence>(std::move(parts));
}

std::unique_ptr<Normalizer> read_replace(const Value& component) {
    const auto& pattern = field(component, "Replace", "pattern").as_object("normalizer Replace: pattern");
    const std::string_view content = text_field(component, "Replace", "content");
    if (pattern.size() != 1) refuse("Replace: pattern must be a map with a single key");
    const auto& [kind, value] = pattern.front();
    if (kind == "String") return make_replace(value.as_string("normalizer Replace: String"), content);
    if (kind == "Regex") {
        const std::string_view regex = value.as_string("normalizer Replace: Regex");
        return make_replace(Regex::compile(regex), content, regex == " {2,}");
    }
    refuse("Replace: unknown variant `" + std::string(kind) + "`, expected `String` or `Regex`");
}

std::unique_ptr<Normalizer> read_precompiled(const Value& component) {
    std::string charsmap;
    if (!from_base64(text_field(component, "Precompiled", "precompiled_charsmap"), &charsmap))
        refuse("Precompiled: precompiled_charsmap is not base64");
    return make_precompiled(charsmap);
}

// Returns null for a type that Hugging Face tokenizers (the reference) does not know.
std::unique_ptr<Normalizer> read_typed(std::string_view type, const Value& component) {
    if (type == "NFC") return std::make_unique<FormNormalizer>(Form::nfc);
    if (type == "NFD") return std::make_unique<FormNormalizer>(Form::nfd);
    if (type == "NFKC") return std::make_unique<FormNormalizer>(Form::nfkc);
    if (type == "NFKD") return std::make_unique<FormNormalizer>(Form::nfkd);
    if (type == "Nmt") return std::make_unique<Nmt>();
    if (type == "Lowercase") return std::make_unique<Lowercase>();
    if (type == "StripAccents") return std::make_unique<StripAccents>();
    if (type == "ByteLevel") return std::make_unique<ByteLevel>();
    if (type == "Bert") return read_bert(component);
    if (type == "Strip") return read_strip(component);
    if (type == "Prepend") return std::make_unique<Prepend>(text_field(component, "Prepend", "prepend"));
    if (type == "Replace") return read_replace(component);
    if (type == "Precompiled") return read_precompiled(component);
    if (type == "Sequence") return read_sequence(component);
    return nullptr;
}

// Without a known type, the reference takes the first of these whose fields are complete and valid.
std::unique_ptr<Normalizer> read_guessed(const Value& component) {
    using Reader = std::unique_ptr<Normalizer> (*)(const Value&);
    constexpr Reader kReaders[] = {read_bert, read_strip, read_sequence, read_replace,
                                   [](const Value& c) -> std::unique_ptr<Normalizer> {
                                       return std::make_unique<Prepend>(text_field(c, "Prepend", "prepend"));
                                   }};
    for (const Reader read : kReaders) {
        try {
            return read(component);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::vocabulary) throw;
        }
    }
    return nullptr;
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Value& component) {
    if (component.is_array())
        throw Error(ErrorKind::unsupported, "normalizer: given as an array of its fields, not as an object");
    if (!component.is_object()) refuse("is not an object");
    const Value* type = component.find("type");
    const std::string_view name = type != nullptr && type->is_string() ? type->as_string("type") : std::string_view();
    if (auto made = read_typed(name, component)) return made;
    if (auto made = read_guessed(component)) return made;
    refuse("of type \"" + std::string(name) + "\": neither the type nor the fields are known");
}

}  // namespace crayon
