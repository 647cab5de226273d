#include "pipeline/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "crayon/json/json.h"
#include "crayon/support/error.h"
#include "models/model_common.h"
#include "pipeline/piece_facts.h"
#include "post/post_process_json.h"

namespace crayon {
namespace {

using json::Value;

constexpr double kNoLimit = 281474976710656.0;  // 2^48: more characters than any text has

bool given(const Value* v) {
    return v != nullptr && !v->is_null();
}

std::string_view type_of(const Value& component) {
    const Value* type = component.find("type");
    return given(type) && type->is_string() ? type->as_string("type") : std::string_view();
}

bool flag(const Value& component, const char* name, bool fallback) {
    const Value* v = component.find(name);
    return given(v) ? v->as_bool(name) : fallback;
}

// Whether a normalizer spells bytes itself, or can put text before the first character without an alignment. The
// reference's ByteLevel then spells this text twice.
bool spells_or_inserts(const Value& normalizer) {
    const auto is_empty = [](const Value* text) {
        return given(text) && text->is_string() && text->as_string("").empty();
    };
    const std::string_view type = type_of(normalizer);
    if (type == "ByteLevel" || (type == "Prepend" && is_empty(normalizer.find("prepend")))) return true;
    if (const Value* pattern = normalizer.find("pattern"); given(pattern)) {
        const Value* literal = pattern->find("String");
        return !given(literal) || is_empty(literal);
    }
    const Value* parts = normalizer.find("normalizers");
    if (!given(parts) || !parts->is_array()) return false;
    for (const Value& part : parts->as_array("normalizers"))
        if (spells_or_inserts(part)) return true;
    return false;
}

// Finds the family of a Split before a plain ByteLevel. Returns false unless its pattern puts every character into some
// piece.
bool family_of_split(const Value& split, Flavor flavor, Family* family) {
    if (type_of(split) != "Split") return false;
    const Value* pattern = split.find("pattern");
    const Value* regex = given(pattern) && pattern->is_object() ? pattern->find("Regex") : nullptr;
    const Value* behavior = split.find("behavior");
    if (!given(regex) || !given(behavior)) return false;
    const std::string_view kind = behavior->as_string("behavior");
    const bool invert = flag(split, "invert", false);
    return (kind == "Isolated" || (kind == "Removed" && invert)) &&
           family_of_pattern(regex->as_string("Regex"), flavor, family);
}

// The components of a `Sequence`, at any depth, in order.
void flatten(const Value& component, std::vector<const Value*>* out) {
    const Value* parts = component.find("pretokenizers");
    if (!given(parts) || !parts->is_array()) {
        out->push_back(&component);
        return;
    }
    for (const Value& part : parts->as_array("pretokenizers")) flatten(part, out);
}

bool find_family(const Value& component, Pipeline* out) {
    std::vector<const Value*> parts;
    flatten(component, &parts);
    if (parts.empty() || parts.size() > 2 || type_of(*parts.back()) != "ByteLevel") return false;
    const bool uses_regex = flag(*parts.back(), "use_regex", true);
    const bool adds_space = flag(*parts.back(), "add_prefix_space", false);
    if (parts.size() == 2) return !uses_regex && !adds_space && family_of_split(*parts[0], out->flavor, &out->family);
    out->family = uses_regex ? Family::gpt2 : Family::whole;
    out->add_prefix_space = adds_space;
    return true;
}

// Checks that the model's options are those with which the byte-level tables were compiled.
void check_byte_model(const Value* model, const Cartridge& cartridge) {
    if (!cartridge.has_merges() && (!given(model) || !is_longest_match(*model)))
        throw Error(ErrorKind::unsupported, "tables of longest match with another model");
    if (!given(model) || !cartridge.has_merges()) return;
    const auto unsupported = [](const char* what) {
        throw Error(ErrorKind::unsupported, std::string("byte-level tables with the model option ") + what);
    };
    if (const std::string_view type = type_of(*model); !type.empty() && type != "BPE")
        throw Error(ErrorKind::unsupported, "tables of merges with the model " + std::string(type));
    for (const char* option : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (const Value* v = model->find(option); given(v) && !v->as_string(option).empty()) unsupported(option);
    if (flag(*model, "byte_fallback", false)) unsupported("byte_fallback");
    if (const Value* v = model->find("dropout"); given(v) && v->as_number("dropout") != 0) unsupported("dropout");
    if (flag(*model, "ignore_merges", false) != bool(cartridge.program().flags & kIgnoreMerges))
        unsupported("ignore_merges changed");
}

// Rejects options of the model that need tables that this cartridge lacks, or that the compiler refuses.
void check_text_model(const Value& model, const Cartridge& cartridge) {
    const ModelOptions options = read_typed_options(model);
    if (!options.byte_fallback) return;
    if (cartridge.byte_ids.empty())
        throw Error(ErrorKind::unsupported, "the model option byte_fallback without a section byte_ids");
    if (options.has_affixes())
        throw Error(ErrorKind::unsupported, "model BPE with byte_fallback and a prefix or suffix");
}

// Removes the ids of tokens of one byte, because no other token can encode that byte.
std::vector<uint32_t> without_bytes(std::vector<uint32_t> ids, const Cartridge& cartridge) {
    const auto is_byte = [&](uint32_t id) {
        return id < cartridge.program().n_ids && cartridge.bytes_of(id).size == 1;
    };
    ids.erase(std::remove_if(ids.begin(), ids.end(), is_byte), ids.end());
    return ids;
}

}  // namespace

bool is_longest_match(const Value& model) {
    if (type_of(model) != "WordPiece") return false;
    const Value *prefix = model.find("continuing_subword_prefix"), *longest = model.find("max_input_chars_per_word");
    return given(prefix) && prefix->as_string("continuing_subword_prefix").empty() && given(longest) &&
           longest->as_number("max_input_chars_per_word") >= kNoLimit;
}

std::vector<uint32_t> control_ids(const Cartridge& cartridge) {
    std::vector<uint32_t> ids;
    const json::Document document = json::parse(cartridge.metadata.view());
    const Value* control = document.root.is_object() ? document.root.find("control") : nullptr;
    if (!given(control)) return ids;
    try {
        for (const Value& id : control->as_array("control")) {
            const double number = id.as_number("control");
            if (!(number >= 0 && number < cartridge.program().n_ids)) throw Error(ErrorKind::cartridge, "an id");
            ids.push_back(uint32_t(number));
        }
    } catch (const Error&) {
        throw Error(ErrorKind::cartridge, "section metadata: \"control\" is not a list of ids");
    }
    return ids;
}

bool can_work_on_bytes(const Value* normalizer, const Value* pre_tokenizer) {
    return given(pre_tokenizer) && ends_in_byte_level(*pre_tokenizer) &&
           (!given(normalizer) || !spells_or_inserts(*normalizer));
}

Pipeline make_pipeline(std::string_view components, const Cartridge& cartridge, const Kernels& kernels,
                       const std::vector<uint32_t>* specials) {
    const json::Document document = json::parse(components);
    const Value& root = document.root;
    root.as_object("components");
    const Value *normalizer = root.find("normalizer"), *pre_tokenizer = root.find("pre_tokenizer"),
                *post_processor = root.find("post_processor"), *decoder = root.find("decoder"),
                *model = root.find("model");
    const bool on_bytes = !cartridge.has_text_tokens();
    if (on_bytes && !can_work_on_bytes(normalizer, pre_tokenizer))
        throw Error(ErrorKind::unsupported, "a pipeline without ByteLevel at its end, over byte-level tables");

    Pipeline out;
    out.flavor = Flavor(cartridge.program().flavor);
    OwnParts own = own_parts(cartridge, root, specials == nullptr);
    out.normalizer = std::move(own.normalizer);
    if (given(normalizer) && out.normalizer == nullptr) out.normalizer = make_normalizer(*normalizer);
    if (given(pre_tokenizer) && !own.takes_whole_text) {
        // Makes the pre-tokenizer in any case, to find malformed components.
        out.pre_tokenizer = make_pre_tokenizer(*pre_tokenizer, {on_bytes, out.flavor, kernels});
        if (on_bytes && find_family(*pre_tokenizer, &out)) {
            // Greedy mode joins touching pieces. A family's pretokens all touch, so joined they are the text.
            if (specials != nullptr) out.family = Family::whole;
            out.scan = kernels.scanners.of(out.family);
            out.pre_tokenizer.reset();
        }
    }
    if (on_bytes) {
        check_byte_model(model, cartridge);
        out.joins_pieces = specials != nullptr;
        out.matches = !cartridge.has_merges() || specials != nullptr;
        out.match = specials != nullptr ? LongestMatch(cartridge.trie, without_bytes(*specials, cartridge))
                                        : LongestMatch(cartridge.trie);
        const bool takes_whole = out.joins_pieces || (out.scan != nullptr && out.family == Family::whole);
        if (out.matches && takes_whole) out.seams = std::make_unique<MatchSeams>(cartridge.trie, kernels);
        if (out.seams != nullptr && !out.seams->exist()) out.seams.reset();
    } else {
        if (!given(model)) throw Error(ErrorKind::vocabulary, "the components have no model");
        check_text_model(*model, cartridge);
        if (own.model != nullptr) {
            out.model = std::move(own.model);
            out.match = LongestMatch(cartridge.trie);
        } else if (specials == nullptr) {
            out.model = make_model(*model, cartridge, kernels);
            out.match = LongestMatch(cartridge.trie);
        } else {
            GreedyModel greedy = make_greedy_model(*model, cartridge, kernels, *specials);
            out.model = std::move(greedy.model);
            out.match = std::move(greedy.match);
            out.joins_pieces = greedy.joins_pieces;
        }
    }
    if (given(post_processor)) out.post_processor = read_post_processor(*post_processor);
    if (given(decoder)) {
        out.decoder = make_decoder(*decoder);
        out.joins_bytes = on_bytes && type_of(*decoder) == "ByteLevel";
    }
    return out;
}

}  // namespace crayon
