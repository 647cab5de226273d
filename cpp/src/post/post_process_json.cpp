// Hugging Face tokenizers (the reference) recognizes a post-processor by its fields rather than its type. It takes the
// first of RobertaProcessing, BertProcessing, ByteLevel, TemplateProcessing and Sequence whose fields exist with the
// right types. Unknown fields do not matter.
#include "post/post_process_json.h"

#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crayon/support/error.h"

namespace crayon {
namespace {

using json::Value;
using Type = Value::Type;

// A template may use one definition many times.
constexpr size_t kMostSpecialIds = 65536;
// Each sequence of a template copies a whole encoding.
constexpr size_t kMostSequences = 64;

[[noreturn]] void unsupported(const std::string& what) {
    throw Error(ErrorKind::unsupported, "post_processor " + what);
}

// A component for a message, shortened if it is long.
std::string shown(const Value& value) {
    constexpr size_t kMost = 200;
    std::string text = json::serialize(value);
    if (text.size() <= kMost) return text;
    size_t end = kMost;
    while ((uint8_t(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + "...";
}

// Returns the field, or null if it is missing or repeated. The reference refuses a repeated field.
const Value* field(const Value& object, std::string_view name) {
    size_t count = 0;
    for (const auto& member : object.as_object("post_processor")) count += member.first == name;
    return count == 1 ? object.find(name) : nullptr;
}

const Value* field(const Value& object, std::string_view name, Type type) {
    const Value* value = field(object, name);
    return value != nullptr && value->type() == type ? value : nullptr;
}

// serde also reads structures from arrays, and names from objects. No known file uses these forms.
void refuse_odd_form(const Value& value, Type odd) {
    if (value.type() == odd) unsupported("in a form that is not native: " + shown(value));
}

bool read_number(const Value& value, uint32_t* out) {
    if (value.type() != Type::integer) return false;
    const int64_t number = value.as_integer("a number");
    if (number < 0 || number > std::numeric_limits<uint32_t>::max()) return false;
    *out = uint32_t(number);
    return true;
}

bool read_id(const Value& value, int32_t* out) {
    uint32_t id = 0;
    if (!read_number(value, &id)) return false;
    if (id > uint32_t(std::numeric_limits<int32_t>::max())) unsupported("with the id " + std::to_string(id));
    *out = int32_t(id);
    return true;
}

bool read_flag(const Value& object, std::string_view name, bool* out) {
    const Value* value = field(object, name, Type::boolean);
    if (value != nullptr) *out = value->as_bool("a flag");
    return value != nullptr;
}

// ["[SEP]", 102]
bool read_special(const Value& object, std::string_view name, int32_t* id, std::optional<std::string>* text) {
    const Value* value = field(object, name, Type::array);
    if (value == nullptr) return false;
    const json::Items<Value> pair = value->as_array("a special token");
    if (pair.size() != 2 || !pair[0].is_string() || !read_id(pair[1], id)) return false;
    *text = std::string(pair[0].as_string("a special token"));
    return true;
}

bool has_type(const Value& component, std::string_view wanted) {
    const Value* type = field(component, "type");
    if (type == nullptr) return false;
    refuse_odd_form(*type, Type::object);
    return type->is_string() && type->as_string("type") == wanted;
}

bool read_bert_or_roberta(const Value& component, PostProcessStep* step) {
    if (!read_special(component, "sep", &step->sep, &step->sep_text)) return false;
    if (!read_special(component, "cls", &step->cls, &step->cls_text)) return false;
    const bool is_roberta = read_flag(component, "trim_offsets", &step->trim_offsets) &&
                            read_flag(component, "add_prefix_space", &step->add_prefix_space);
    step->kind = is_roberta ? PostProcessStep::Kind::roberta : PostProcessStep::Kind::bert;
    if (!is_roberta) step->trim_offsets = step->add_prefix_space = false;
    return true;
}

bool read_byte_level(const Value& component, PostProcessStep* step) {
    bool use_regex = true;
    step->kind = PostProcessStep::Kind::byte_level;
    return has_type(component, "ByteLevel") && read_flag(component, "add_prefix_space", &step->add_prefix_space) &&
           read_flag(component, "trim_offsets", &step->trim_offsets) &&
           (component.find("use_regex") == nullptr || read_flag(component, "use_regex", &use_regex));
}

// {"Sequence": {"id": "A", "type_id": 0}} or {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
bool read_piece(const Value& value, TemplatePiece* piece, std::string_view* name) {
    if (!value.is_object() || value.as_object("a piece").size() != 1) return false;
    const auto& [kind, body] = value.as_object("a piece")[0];
    if (kind != "Sequence" && kind != "SpecialToken") return false;
    refuse_odd_form(body, Type::array);
    if (!body.is_object()) return false;
    const Value *id = field(body, "id"), *type_id = field(body, "type_id");
    if (id == nullptr || type_id == nullptr || !read_number(*type_id, &piece->type_id)) return false;
    piece->is_sequence = kind == "Sequence";
    if (piece->is_sequence) refuse_odd_form(*id, Type::object);
    if (!id->is_string()) return false;
    *name = id->as_string("id");
    piece->sequence = *name == "B";
    return !piece->is_sequence || *name == "A" || *name == "B";
}

// {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]}
bool read_definition(const Value& value, TemplatePiece* piece) {
    refuse_odd_form(value, Type::array);
    if (!value.is_object()) return false;
    const Value *ids = field(value, "ids", Type::array), *tokens = field(value, "tokens", Type::array);
    if (field(value, "id", Type::string) == nullptr || ids == nullptr || tokens == nullptr) return false;
    for (const Value& id : ids->as_array("ids"))
        if (!read_id(id, &piece->ids.emplace_back())) return false;
    for (const Value& token : tokens->as_array("tokens")) {
        if (!token.is_string()) return false;
        piece->texts.emplace_back(token.as_string("tokens"));
    }
    return true;
}

bool read_pieces(const Value& component, const char* name, std::vector<TemplatePiece>* out,
                 std::vector<std::string_view>* names) {
    const Value* pieces = field(component, name, Type::array);
    if (pieces == nullptr) return false;
    for (const Value& piece : pieces->as_array(name))
        if (!read_piece(piece, &out->emplace_back(), &names->emplace_back())) return false;
    return true;
}

// Fills in the ids and strings of a template's special tokens, by their names. The template is known to be well-formed.
void define(const std::unordered_map<std::string_view, const Value*>& definitions,
            const std::vector<std::string_view>& names, std::vector<TemplatePiece>* pieces) {
    size_t total = 0, sequences = 0;
    for (size_t i = 0; i < pieces->size(); ++i) {
        TemplatePiece& piece = (*pieces)[i];
        if (piece.is_sequence) {
            if (++sequences > kMostSequences) unsupported("TemplateProcessing with more than 64 sequences");
            continue;
        }
        const auto found = definitions.find(names[i]);
        if (found == definitions.end()) unsupported("TemplateProcessing that does not define " + json::quote(names[i]));
        read_definition(*found->second, &piece);
        if (piece.ids.size() != piece.texts.size())
            unsupported("TemplateProcessing that defines " + json::quote(names[i]) +
                        " with ids and tokens of unlike length");
        total += piece.ids.size();
        if (total > kMostSpecialIds) unsupported("TemplateProcessing with more than 65536 special ids");
    }
}

bool read_template(const Value& component, PostProcessStep* step) {
    std::vector<std::string_view> single_names, pair_names;
    step->kind = PostProcessStep::Kind::template_processing;
    if (!read_pieces(component, "single", &step->single, &single_names) ||
        !read_pieces(component, "pair", &step->pair, &pair_names))
        return false;
    const Value* definitions = field(component, "special_tokens", Type::object);
    if (definitions == nullptr) return false;
    std::unordered_map<std::string_view, const Value*> by_name;
    for (const auto& [name, definition] : definitions->as_object("special_tokens")) {
        TemplatePiece checked;
        if (!read_definition(definition, &checked)) return false;
        by_name[name] = &definition;
    }
    define(by_name, single_names, &step->single);
    define(by_name, pair_names, &step->pair);
    return true;
}

// Appends the steps of a component; of a Sequence, the steps of its components.
bool read_steps(const Value& component, PostProcessor* out) {
    refuse_odd_form(component, Type::array);
    if (!component.is_object()) return false;
    for (const auto read : {&read_bert_or_roberta, &read_byte_level, &read_template}) {
        PostProcessStep step;
        if (!read(component, &step)) continue;
        if (out->steps.size() == kMaxPostSteps) unsupported("of more than 64 steps");
        out->steps.push_back(std::move(step));
        return true;
    }
    const Value* parts = has_type(component, "Sequence") ? field(component, "processors", Type::array) : nullptr;
    if (parts == nullptr) return false;
    for (const Value& part : parts->as_array("processors"))
        if (!read_steps(part, out)) return false;
    return true;
}

}  // namespace

PostProcessor read_post_processor(const Value& component) {
    PostProcessor out;
    if (!read_steps(component, &out))
        throw Error(ErrorKind::vocabulary, "post_processor has an unknown type: " + shown(component));
    // An empty Sequence still sets the sequences of tokens, as does the ByteLevel that trims nothing, which is added
    // here.
    if (out.steps.empty()) out.steps.emplace_back();
    return out;
}

}  // namespace crayon
