// The "pre_tokenizer" of a tokenizer.json, read as tokenizers 0.23 reads it, and Sequence.
#include "crayon/pre_tokenizers/pre_tokenizers.h"

#include "crayon/unicode/unicode.h"
#include "pre_tokenizers/pre_tokenizer_common.h"
#include "support/size_limits.h"

namespace crayon {
namespace {

using json::Value;

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorKind::vocabulary, "pre_tokenizer: " + what);
}

[[noreturn]] void unsupported(const std::string& what) {
    throw Error(ErrorKind::unsupported, "pre_tokenizer: " + what);
}

// The fields of a component. Other fields are ignored, as in the reference.
class Fields {
  public:
    Fields(const Value& component, std::string_view type) : component_(component), type_(type) {}

    const Value& required(const char* name) const {
        const Value* value = component_.find(name);
        if (value == nullptr) refuse(type_ + " lacks \"" + name + "\"");
        return *value;
    }

    bool flag(const char* name) const { return required(name).as_bool(label(name).c_str()); }

    bool flag_or(const char* name, bool otherwise) const {
        return component_.find(name) == nullptr ? otherwise : flag(name);
    }

    // Returns the field, or null if it is missing or null in the JSON.
    const Value* optional(const char* name) const {
        const Value* value = component_.find(name);
        return value == nullptr || value->is_null() ? nullptr : value;
    }

    std::string_view character(const char* name) const {
        const std::string_view text = required(name).as_string(label(name).c_str());
        const Bytes bytes(text);
        if (bytes.empty() || decode_utf8(bytes.begin(), bytes.end()).size != bytes.size)
            refuse(label(name) + " is not one character: " + json::quote(text));
        return text;
    }

    // The name of a variant. (serde also accepts {"name": null}, which no known file uses.)
    std::string_view variant(const Value& value, const char* name) const {
        if (value.is_object()) unsupported(label(name) + " written as an object");
        return value.as_string(label(name).c_str());
    }

    Behavior behavior() const {
        const std::string_view name = variant(required("behavior"), "behavior");
        if (name == "Removed") return Behavior::removed;
        if (name == "Isolated") return Behavior::isolated;
        if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
        if (name == "MergedWithNext") return Behavior::merged_with_next;
        if (name == "Contiguous") return Behavior::contiguous;
        refuse(type_ + " has the unknown behavior " + json::quote(name));
    }

    bool has(const char* name) const { return component_.find(name) != nullptr; }
    std::string label(const char* name) const { return "pre_tokenizer " + type_ + "'s \"" + name + "\""; }

  private:
    const Value& component_;
    std::string type_;
};

class Sequence final : public PreTokenizer {
  public:
    explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}

    void split(PieceList* list) const override {
        const size_t before = list->text.size();
        for (const auto& step : steps_) {
            step->split(list);
            // ByteLevel spells most bytes with two, and a second ByteLevel doubles them again.
            check_growth(before, list->text.size(), "pre-tokenizer");
        }
    }

    bool needs_alignments() const override {
        for (const auto& step : steps_) {
            if (step->needs_alignments()) return true;
        }
        return false;
    }

    bool needs_own_alignments() const override {
        bool is_changed = false;
        for (const auto& step : steps_) {
            if (step->needs_own_alignments() || (is_changed && step->needs_alignments())) return true;
            is_changed |= step->rewrites();
        }
        return false;
    }

    bool rewrites() const override {
        for (const auto& step : steps_) {
            if (step->rewrites()) return true;
        }
        return false;
    }

    bool add_needed(std::vector<Regex::Needed>* all) const override {
        for (const auto& step : steps_)
            if (!step->add_needed(all)) return false;
        return true;
    }

    const PreTokenizer* words_to_mark() const override {
        return steps_.size() == 2 && steps_[0]->shape() == Shape::white_split &&
                       steps_[1]->shape() == Shape::space_marks
                   ? steps_[0].get()
                   : nullptr;
    }

    // Each step cuts each piece of the previous step by itself.
    Division divides(Border* border) const override {
        for (const auto& step : steps_) {
            const Division division = step->divides(border);
            if (division != Division::through) return division;
        }
        return Division::through;
    }

  private:
    std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

std::unique_ptr<PreTokenizer> read_metaspace(const Fields& fields) {
    PrependScheme scheme = PrependScheme::always;
    if (fields.has("prepend_scheme")) {
        const std::string_view name = fields.variant(fields.required("prepend_scheme"), "prepend_scheme");
        if (name == "first")
            scheme = PrependScheme::first;
        else if (name == "never")
            scheme = PrependScheme::never;
        else if (name != "always")
            refuse("Metaspace has the unknown prepend_scheme " + json::quote(name));
    }
    // Older versions of the library write this field.
    if (const Value* prefix = fields.optional("add_prefix_space")) {
        const bool wanted = prefix->as_bool(fields.label("add_prefix_space").c_str());
        if (!wanted && scheme != PrependScheme::never)
            refuse("Metaspace's \"add_prefix_space\": false contradicts its prepend_scheme");
    }
    if (const Value* spelling = fields.optional("str_rep")) spelling->as_string(fields.label("str_rep").c_str());
    const Value* split = fields.optional("split");
    return make_metaspace(fields.character("replacement"), scheme,
                          split == nullptr || split->as_bool(fields.label("split").c_str()));
}

std::unique_ptr<PreTokenizer> read_split(const Fields& fields, const PreTokenizerOptions& options) {
    const Value& pattern = fields.required("pattern");
    const auto& members = pattern.as_object(fields.label("pattern").c_str());
    for (const auto& member : members) {
        if (member.first != members.front().first) refuse("Split's \"pattern\" has more than one key");
    }
    const Value* text = pattern.find("String");
    const Value* regex = pattern.find("Regex");
    if (text == nullptr && regex == nullptr) refuse("Split's \"pattern\" has neither \"String\" nor \"Regex\"");
    const Behavior behavior = fields.behavior();
    const bool invert = fields.flag("invert");
    if (text != nullptr) return make_split_literal(text->as_string("Split's \"String\""), behavior, invert);
    return make_split_regex(regex->as_string("Split's \"Regex\""), behavior, invert, options);
}

std::unique_ptr<PreTokenizer> read_fixed_length(const Fields& fields) {
    uint64_t length = 5;
    if (fields.has("length")) {
        const Value& value = fields.required("length");
        if (value.type() == Value::Type::large) unsupported("FixedLength of length 2^63 or more");
        const int64_t given = value.as_integer(fields.label("length").c_str());
        if (given < 0) refuse("FixedLength's \"length\" is negative");
        // The reference accepts a length of 0, and panics at any text.
        if (given == 0) unsupported("FixedLength of length 0");
        length = uint64_t(given);
    }
    return make_fixed_length(length);
}

std::unique_ptr<PreTokenizer> read_component(const Value& component, const PreTokenizerOptions& options);

std::unique_ptr<PreTokenizer> read_sequence(const Fields& fields, const PreTokenizerOptions& options) {
    const auto& members = fields.required("pretokenizers").as_array(fields.label("pretokenizers").c_str());
    PreTokenizerOptions inner = options;
    inner.raw_bytes = false;
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    for (const Value& member : members) {
        const bool last = &member == &members.back();
        steps.push_back(read_component(member, last ? options : inner));
    }
    return std::make_unique<Sequence>(std::move(steps));
}

// Without a type the reference guesses nothing: each kind requires its type.
std::unique_ptr<PreTokenizer> read_component(const Value& component, const PreTokenizerOptions& options) {
    if (component.is_array()) unsupported("a component written as an array");
    if (!component.is_object()) refuse("a component is not an object");
    const Value* named = component.find("type");
    if (named == nullptr) refuse("a component has no \"type\"");
    if (named->is_object()) unsupported("a \"type\" written as an object");
    const std::string_view type = named->as_string("the type of a pre_tokenizer");
    const Fields fields(component, type);
    if (type == "ByteLevel") {
        fields.flag("trim_offsets");
        return make_byte_level(fields.flag("add_prefix_space"), fields.flag_or("use_regex", true), options.raw_bytes,
                               options);
    }
    if (type == "Split") return read_split(fields, options);
    if (type == "Metaspace") return read_metaspace(fields);
    if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
    if (type == "Whitespace") return make_whitespace();
    if (type == "WhitespaceSplit") return make_whitespace_split();
    if (type == "Punctuation") return make_punctuation(fields.has("behavior") ? fields.behavior() : Behavior::isolated);
    if (type == "Digits") return make_digits(fields.flag("individual_digits"));
    if (type == "CharDelimiterSplit")
        return make_split_literal(fields.character("delimiter"), Behavior::removed, false);
    if (type == "UnicodeScripts") return make_unicode_scripts();
    if (type == "FixedLength") return read_fixed_length(fields);
    if (type == "Sequence") return read_sequence(fields, options);
    refuse("the unknown type " + json::quote(type));
}

bool has_type(const Value& component, std::string_view type) {
    const Value* named = component.find("type");
    return named != nullptr && named->is_string() && named->as_string("type") == type;
}

json::Items<Value> members_of(const Value& component) {
    const Value* members = has_type(component, "Sequence") ? component.find("pretokenizers") : nullptr;
    if (members == nullptr || !members->is_array()) return {nullptr, 0};
    return members->as_array("pretokenizers");
}

bool has_byte_level(const Value& component) {
    if (has_type(component, "ByteLevel")) return true;
    for (const Value& member : members_of(component)) {
        if (has_byte_level(member)) return true;
    }
    return false;
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Value& component, const PreTokenizerOptions& options) {
    return read_component(component, options);
}

bool ends_in_byte_level(const Value& component) {
    if (has_type(component, "ByteLevel")) return true;
    const json::Items<Value> members = members_of(component);
    if (members.empty()) return false;
    for (const Value& member : members) {
        if (&member != &members.back() && has_byte_level(member)) return false;
    }
    return ends_in_byte_level(members.back());
}

}  // namespace crayon
