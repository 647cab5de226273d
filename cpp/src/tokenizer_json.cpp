// tokenizer.json -> TokenizerSpec. The field names and defaults are those of tokenizers 0.23.
#include "tokenizer_json.h"

#include <algorithm>
#include <unordered_map>

#include "byte_level.h"
#include "crayon/error.h"
#include "crayon/json.h"
#include "post_program.h"

namespace crayon {
namespace {

using json::Value;
using Index = std::unordered_map<std::string_view, uint32_t>;

[[noreturn]] void unsupported(const std::string& what) {
    throw Error(ErrorKind::unsupported, what);
}
[[noreturn]] void malformed(const std::string& what) {
    throw Error(ErrorKind::vocabulary, "tokenizer.json: " + what);
}

bool given(const Value* v) {
    return v != nullptr && !v->is_null();
}

bool flag(const Value& object, const char* name, bool fallback) {
    const Value* v = object.find(name);
    return given(v) ? v->as_bool(name) : fallback;
}

// A flag that the reference insists on.
bool required_flag(const Value& object, const char* name) {
    const Value* v = object.find(name);
    if (v == nullptr) malformed(std::string("a component has no ") + name);
    return v->as_bool(name);
}

// The reference guesses at some components without a type, from the fields they have.
std::string type_of(const Value& component, const char* what) {
    const Value* type = component.find("type");
    if (type == nullptr || !type->is_string()) unsupported(std::string(what) + " without a type");
    return std::string(type->as_string("type"));
}

struct ByteLevelFlags {
    bool add_prefix_space, trim_offsets, use_regex;
};

ByteLevelFlags byte_level_flags(const Value& component) {
    const bool has_regex = component.find("use_regex") != nullptr;
    return {required_flag(component, "add_prefix_space"), required_flag(component, "trim_offsets"),
            !has_regex || required_flag(component, "use_regex")};
}

uint32_t id_of(const Value& v, const char* what) {
    const int64_t id = v.as_integer(what);
    if (id < 0) malformed(std::string(what) + " is negative: " + std::to_string(id));
    if (id >= kMaxIds) unsupported(std::string(what) + " " + std::to_string(id) + " is too large");
    return uint32_t(id);
}

// The components of a `Sequence`, at any depth, in order.
void flatten(const Value& component, const char* what, const char* list, std::vector<const Value*>* out) {
    if (type_of(component, what) != "Sequence") {
        out->push_back(&component);
        return;
    }
    const Value* parts = component.find(list);
    if (!given(parts) || component.as_object(what).size() != 2)
        unsupported(std::string(what) + " Sequence with other fields than " + list);
    for (const Value& part : parts->as_array(list)) flatten(part, what, list, out);
}

void read_model(const Value& model, TokenizerSpec* spec, Index* index) {
    const Value* type = model.find("type");
    const Value* merges = model.find("merges");
    const Value* vocab = model.find("vocab");
    const std::string name = type != nullptr     ? std::string(type->as_string("model.type"))
                             : merges != nullptr ? "BPE"
                                                 : "(untyped)";
    if (name != "BPE") unsupported("model " + name);
    if (!given(vocab) || !given(merges)) malformed("the BPE model has no vocab or no merges");
    for (const char* option : {"unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
        const Value* v = model.find(option);
        if (!given(v) || v->as_string(option).empty()) continue;
        // A byte-complete byte-level vocabulary never needs its unknown token.
        if (std::string_view(option) != "unk_token") unsupported("model BPE with " + std::string(option));
    }
    if (flag(model, "byte_fallback", false)) unsupported("model BPE with byte_fallback");
    const Value* dropout = model.find("dropout");
    if (given(dropout) && dropout->as_number("dropout") != 0) unsupported("model BPE with dropout");
    flag(model, "fuse_unk", false);  // changes nothing where nothing is unknown
    spec->ignore_merges = flag(model, "ignore_merges", false);

    const auto& entries = vocab->as_object("model.vocab");
    index->reserve(entries.size() * 2);
    uint32_t n_ids = 0;
    for (const auto& [token, id] : entries) (*index)[token] = id_of(id, "an id in model.vocab");
    for (const auto& [token, id] : *index) n_ids = std::max(n_ids, id + 1);
    if (n_ids > 2 * entries.size() + 65536) unsupported("a vocabulary with mostly unused ids");
    spec->tokens.resize(n_ids);
    for (const auto& [text, id] : *index) {
        TokenizerSpec::Token& token = spec->tokens[id];
        if (token.present) unsupported("a vocabulary where two tokens share the id " + std::to_string(id));
        token.present = token.in_model = true;
        token.text = std::string(text);
        token.raw = text.empty() || !from_byte_level(text, &token.bytes);
        if (token.raw) token.bytes = token.text;
    }
    spec->model_size = uint32_t(index->size());

    const auto find = [&](std::string_view text, const char* role) {
        const auto found = index->find(text);
        if (found == index->end())
            malformed(std::string("the ") + role + " of a merge is not in the vocabulary: " + json::quote(text));
        return found->second;
    };
    const auto& list = merges->as_array("model.merges");
    spec->merges.reserve(list.size());
    std::string product;
    for (const Value& merge : list) {
        std::string_view left, right;
        if (merge.is_string() != list[0].is_string()) malformed("some merges are strings and some are pairs");
        if (merge.is_string()) {
            const std::string_view line = merge.as_string("merge");
            if (line.rfind("#version", 0) == 0) continue;
            const size_t space = line.find(' ');
            if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
                malformed("a merge is not two tokens: " + json::quote(line));
            left = line.substr(0, space);
            right = line.substr(space + 1);
        } else {
            const auto& two = merge.as_array("a merge");
            if (two.size() != 2) malformed("a merge is not two tokens");
            left = two[0].as_string("a merge");
            right = two[1].as_string("a merge");
        }
        product.assign(left).append(right);
        spec->merges.push_back({find(left, "left part"), find(right, "right part"), find(product, "product")});
    }
    if (spec->merges.size() >= kMaxMerges) unsupported("more than 4 million merges");
}

void read_added(const Value* list, TokenizerSpec* spec, const Index& index) {
    if (list == nullptr) return;
    std::unordered_map<std::string, uint32_t> seen;
    uint32_t next = spec->model_size;
    for (const Value& entry : list->as_array("added_tokens")) {
        const Value* id = entry.find("id");
        const Value* content = entry.find("content");
        if (!given(id) || !given(content)) malformed("an added token has no id or no content");
        TokenizerSpec::Added token{id_of(*id, "the id of an added token"), 0,
                                   std::string(content->as_string("content"))};
        const std::string quoted = json::quote(token.content);
        if (token.content.empty()) unsupported("an added token without content");
        if (!seen.emplace(token.content, token.id).second) unsupported("the added token " + quoted + " twice");
        const struct {
            const char* name;
            uint32_t bit;
        } flags[] = {{"single_word", kSingleWord},
                     {"lstrip", kLstrip},
                     {"rstrip", kRstrip},
                     {"normalized", kNormalized},
                     {"special", kSpecialToken}};
        for (const auto& f : flags) {
            const Value* v = entry.find(f.name);
            if (!given(v)) malformed("the added token " + quoted + " has no " + f.name);
            if (v->as_bool(f.name)) token.flags |= f.bit;
        }
        // The reference gives a token that the model knows the model's id, and any other the next free one, whatever
        // the file says.
        const auto known = index.find(token.content);
        const uint32_t expected = known != index.end() ? known->second : next;
        if (expected != token.id)
            unsupported("the added token " + quoted + " with id " + std::to_string(token.id) +
                        ", to which the reference gives " + std::to_string(expected));
        if (token.id >= spec->tokens.size()) spec->tokens.resize(size_t(token.id) + 1);
        TokenizerSpec::Token& slot = spec->tokens[token.id];
        if (slot.present && slot.text != token.content) unsupported("the added token " + quoted + " on a used id");
        if (!slot.present) {
            slot.present = true;
            slot.text = token.content;
            slot.raw = !from_byte_level(token.content, &slot.bytes);
            if (slot.raw) slot.bytes = token.content;
        }
        if (token.id >= spec->model_size) next = std::max(next, token.id + 1);
        spec->added.push_back(std::move(token));
    }
}

void read_normalizer(const Value* normalizer, TokenizerSpec* spec) {
    if (!given(normalizer)) return;
    std::vector<const Value*> parts;
    flatten(*normalizer, "normalizer", "normalizers", &parts);
    for (const Value* part : parts) {
        const std::string type = type_of(*part, "normalizer");
        if (type != "NFC") unsupported("normalizer " + type);
        spec->normalizer = NormalizerKind::nfc;
    }
    if (parts.size() > 1) unsupported("normalizer Sequence of more than one step");
}

void read_pre_tokenizer(const Value* component, Flavor flavor, TokenizerSpec* spec) {
    std::vector<const Value*> parts;
    if (given(component)) flatten(*component, "pre_tokenizer", "pretokenizers", &parts);
    if (parts.empty()) unsupported("no pre_tokenizer");
    const Value& last = *parts.back();
    const std::string last_type = type_of(last, "pre_tokenizer");
    if (last_type != "ByteLevel") unsupported("pre_tokenizer " + last_type);
    const ByteLevelFlags flags = byte_level_flags(last);
    spec->add_prefix_space = flags.add_prefix_space;
    if (parts.size() == 1) {
        spec->family = flags.use_regex ? Family::gpt2 : Family::whole;
        return;
    }
    if (parts.size() > 2) unsupported("a pre_tokenizer of more than two steps");
    const Value& split = *parts[0];
    const std::string type = type_of(split, "pre_tokenizer");
    if (type != "Split") unsupported("pre_tokenizer " + type);
    if (flags.use_regex || flags.add_prefix_space)
        unsupported("pre_tokenizer Split before a ByteLevel that splits or adds");
    const Value* pattern = split.find("pattern");
    const Value* regex = given(pattern) ? pattern->find("Regex") : nullptr;
    if (!given(regex) || pattern->as_object("pattern").size() != 1) unsupported("pre_tokenizer Split on no Regex");
    const std::string_view behavior = split.find("behavior") ? split.find("behavior")->as_string("behavior") : "";
    const bool invert = required_flag(split, "invert");
    // The families' patterns match every character, so that these keep the same pieces.
    if (!(behavior == "Isolated" || (behavior == "Removed" && invert)))
        unsupported("pre_tokenizer Split with behavior " + std::string(behavior));
    if (!family_of_pattern(regex->as_string("Regex"), flavor, &spec->family))
        unsupported("pre_tokenizer Split with the pattern " + std::string(regex->as_string("Regex")));
}

std::vector<TemplatePiece> read_template(const Value& processor, const char* name, const Value* specials) {
    std::vector<TemplatePiece> out;
    const Value* pieces = processor.find(name);
    if (!given(pieces)) malformed(std::string("TemplateProcessing has no ") + name);
    for (const Value& entry : pieces->as_array(name)) {
        TemplatePiece piece;
        const Value* sequence = entry.find("Sequence");
        const Value* special = entry.find("SpecialToken");
        const Value* body = given(sequence) ? sequence : special;
        if (!given(body) || !given(body->find("id")) || !given(body->find("type_id")) ||
            entry.as_object("a piece").size() != 1)
            malformed("a piece of TemplateProcessing is neither a Sequence nor a SpecialToken");
        piece.type_id = id_of(*body->find("type_id"), "type_id");
        const std::string_view id = body->find("id")->as_string("id");
        if (body == sequence) {
            if (id != "A" && id != "B") malformed("a template sequence is neither A nor B");
            piece.is_sequence = true;
            piece.sequence = id == "B";
        } else {
            const Value* definition = given(specials) ? specials->find(id) : nullptr;
            const Value* ids = definition ? definition->find("ids") : nullptr;
            // The reference opens such files, and fails when it meets the token.
            if (!given(ids)) unsupported("post_processor TemplateProcessing that does not define " + json::quote(id));
            for (const Value& v : ids->as_array("ids")) piece.ids.push_back(int32_t(id_of(v, "a special id")));
            const Value* names = definition->find("tokens");
            if (!given(names) || names->as_array("tokens").size() != piece.ids.size())
                unsupported("post_processor TemplateProcessing that defines " + json::quote(id) +
                            " with ids and tokens of unlike length");
        }
        out.push_back(std::move(piece));
    }
    return out;
}

int32_t named_id(const Value& processor, const char* name) {
    const Value* v = processor.find(name);
    if (!given(v) || v->as_array(name).size() != 2) malformed(std::string("RobertaProcessing has no ") + name);
    return int32_t(id_of(v->as_array(name)[1], name));
}

// The strings that a post-processor gives to its special ids must be the vocabulary's own: encodings show ids' tokens.
void check_special_strings(const Value& processor, const TokenizerSpec& spec) {
    const auto check = [&](const Value& id, const Value& text) {
        const uint32_t i = id_of(id, "a special id");
        if (i >= spec.tokens.size() || !spec.tokens[i].present || spec.tokens[i].text != text.as_string("token"))
            unsupported("a post_processor whose special token " + json::quote(text.as_string("token")) +
                        " is not the vocabulary's id " + std::to_string(i));
    };
    for (const char* name : {"sep", "cls"})
        if (const Value* v = processor.find(name); given(v) && v->as_array(name).size() == 2)
            check(v->as_array(name)[1], v->as_array(name)[0]);
    const Value* specials = processor.find("special_tokens");
    if (!given(specials) || !specials->is_object()) return;
    for (const auto& [name, definition] : specials->as_object("special_tokens")) {
        const Value *ids = definition.find("ids"), *names = definition.find("tokens"), *id = definition.find("id");
        if (!given(ids) || !given(names) || !given(id))
            malformed("a special token of TemplateProcessing is incomplete");
        id->as_string("id");
        const auto &i = ids->as_array("ids"), &t = names->as_array("tokens");
        for (size_t k = 0; k < std::min(i.size(), t.size()); ++k) check(i[k], t[k]);
    }
}

// The reference knows a post-processor by the fields that it has, and hardly looks at its type.
void check_fields(const Value& processor, const std::string& type, std::initializer_list<std::string_view> needed,
                  std::string_view optional = "type") {
    for (const std::string_view name : needed)
        if (processor.find(name) == nullptr) unsupported("post_processor " + type + " without " + std::string(name));
    for (const auto& [name, value] : processor.as_object("post_processor"))
        if (name != "type" && name != optional && std::find(needed.begin(), needed.end(), name) == needed.end())
            unsupported("post_processor " + type + " with " + std::string(name));
}

// Without flags the same fields make a BertProcessing.
bool roberta_flag(const Value& processor, const char* name) {
    const Value* v = processor.find(name);
    if (v->type() != Value::Type::boolean) unsupported(std::string("post_processor RobertaProcessing without ") + name);
    return v->as_bool(name);
}

void read_post_processor(const Value* component, TokenizerSpec* spec) {
    std::vector<const Value*> parts;
    if (given(component)) flatten(*component, "post_processor", "processors", &parts);
    // A sequence of no steps still names the input sequences, which is what a ByteLevel that trims nothing does.
    if (given(component) && parts.empty()) spec->post_processor.steps.emplace_back();
    if (parts.size() > kMaxPostSteps) unsupported("a post_processor of more than 64 steps");
    for (const Value* part : parts) {
        PostProcessStep step;
        const std::string type = type_of(*part, "post_processor");
        if (type == "ByteLevel") {
            check_fields(*part, type, {"add_prefix_space", "trim_offsets"}, "use_regex");
            const ByteLevelFlags flags = byte_level_flags(*part);
            step.kind = PostProcessStep::Kind::byte_level;
            step.add_prefix_space = flags.add_prefix_space;
            step.trim_offsets = flags.trim_offsets;
        } else if (type == "TemplateProcessing") {
            check_fields(*part, type, {"single", "pair", "special_tokens"});
            step.kind = PostProcessStep::Kind::template_processing;
            step.single = read_template(*part, "single", part->find("special_tokens"));
            step.pair = read_template(*part, "pair", part->find("special_tokens"));
        } else if (type == "RobertaProcessing") {
            check_fields(*part, type, {"sep", "cls", "trim_offsets", "add_prefix_space"});
            step.kind = PostProcessStep::Kind::roberta;
            step.add_prefix_space = roberta_flag(*part, "add_prefix_space");
            step.trim_offsets = roberta_flag(*part, "trim_offsets");
            step.sep = named_id(*part, "sep");
            step.cls = named_id(*part, "cls");
        } else {
            unsupported("post_processor " + type);
        }
        check_special_strings(*part, *spec);
        spec->post_processor.steps.push_back(std::move(step));
    }
}

}  // namespace

TokenizerSpec read_tokenizer_json(std::string_view text, Flavor flavor) {
    const json::Document document = json::parse(text);
    const Value& root = document.root;
    for (const auto& [name, value] : root.as_object("the top level of tokenizer.json")) {
        const auto known = {"version",       "truncation",     "padding", "added_tokens", "normalizer",
                            "pre_tokenizer", "post_processor", "decoder", "model"};
        if (std::find(known.begin(), known.end(), name) == known.end())
            malformed("it has the unknown field " + json::quote(name));
    }
    const Value* version = root.find("version");
    if (version != nullptr && version->as_string("version") != "1.0")
        malformed("it is of version " + json::quote(version->as_string("version")) + ", not \"1.0\"");
    const Value* model = root.find("model");
    if (!given(model)) malformed("it has no model");
    for (const char* option : {"truncation", "padding"})
        if (given(root.find(option))) unsupported(std::string(option) + " stored in tokenizer.json");
    const Value* decoder = root.find("decoder");
    const std::string decoder_type = given(decoder) ? type_of(*decoder, "decoder") : "none";
    if (decoder_type != "ByteLevel") unsupported("decoder " + decoder_type);
    byte_level_flags(*decoder);

    TokenizerSpec spec;
    Index index;
    read_normalizer(root.find("normalizer"), &spec);
    read_pre_tokenizer(root.find("pre_tokenizer"), flavor, &spec);
    read_model(*model, &spec, &index);
    read_added(root.find("added_tokens"), &spec, index);
    read_post_processor(root.find("post_processor"), &spec);
    for (const TokenizerSpec::Token& token : spec.tokens) spec.vocab_size += token.present;

    std::string missing;
    for (int b = 0; b < 256; ++b) {
        const uint8_t byte = uint8_t(b);
        if (index.find(to_byte_level({&byte, 1})) == index.end()) missing = std::to_string(b);
    }
    if (!missing.empty()) unsupported("a vocabulary without a token for byte " + missing);
    return spec;
}

}  // namespace crayon
