// Converts the "model" of a tokenizer.json to a ModelSpec. Fields, defaults and errors are those of tokenizers 0.23.
#include "compiler/model_spec.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "crayon/support/error.h"
#include "models/model_common.h"
#include "models/token_index.h"

namespace crayon {
namespace {

using json::Value;

constexpr const char* kTypeNames[] = {"BPE", "WordPiece", "WordLevel", "Unigram"};

[[noreturn]] void unsupported(const std::string& what) {
    throw Error(ErrorKind::unsupported, what);
}
[[noreturn]] void malformed(const std::string& what) {
    throw Error(ErrorKind::vocabulary, "tokenizer.json: " + what);
}

const Value& required(const Value& model, const char* name) {
    const Value* v = model.find(name);
    if (v == nullptr) malformed(std::string("the model has no ") + name);
    return *v;
}

bool given(const Value* v) {
    return v != nullptr && !v->is_null();
}

std::optional<std::string> optional_string(const Value& model, const char* name) {
    const Value* v = model.find(name);
    if (!given(v)) return std::nullopt;
    return std::string(v->as_string(name));
}

bool optional_flag(const Value& model, const char* name) {
    const Value* v = model.find(name);
    return given(v) && v->as_bool(name);
}

uint64_t as_size(const Value& v, const char* what) {
    if (v.type() == Value::Type::large) unsupported(std::string("a model with a huge ") + what);
    const int64_t size = v.as_integer(what);
    if (size < 0) malformed(std::string(what) + " is negative: " + std::to_string(size));
    return uint64_t(size);
}

std::optional<float> read_dropout(const Value& model) {
    const Value* v = model.find("dropout");
    if (!given(v)) return std::nullopt;
    const double exact = v->as_number("dropout");
    // Beyond the largest float the conversion would be undefined.
    const float dropout = exact > -2 && exact < 2 ? float(exact) : 2.0f;
    if (!(dropout >= 0 && dropout <= 1)) malformed("dropout is not between 0 and 1");
    return dropout;
}

uint32_t id_of(const Value& v) {
    const int64_t id = v.as_integer("an id in model.vocab");
    if (id < 0 || id > int64_t(0xFFFFFFFF)) malformed("an id in model.vocab is out of range: " + std::to_string(id));
    if (id >= kMaxIds)
        unsupported("an id in model.vocab is too large: " + std::to_string(id) + ": ids end at " +
                    std::to_string(kMaxIds - 1));
    return uint32_t(id);
}

void read_vocab(const Value& model, ModelSpec* spec, TokenIndex* index) {
    const auto& entries = required(model, "vocab").as_object("model.vocab");
    index->reserve(entries.size());
    for (const auto& [token, id] : entries) index->set(token, id_of(id));
    uint32_t n_ids = 0;
    for (const auto& [token, id] : index->entries()) n_ids = std::max(n_ids, id + 1);
    if (n_ids > 2 * entries.size() + 65536) unsupported("a vocabulary with mostly unused ids");
    spec->tokens.resize(n_ids);
    spec->present.assign(n_ids, 0);
    for (const auto& [token, id] : index->entries()) {
        // Which of the two tokens the reference gives for this id is undefined.
        if (spec->present[id]) unsupported("a vocabulary where two tokens share the id " + std::to_string(id));
        spec->present[id] = 1;
        spec->tokens[id] = std::string(token);
    }
    spec->model_size = uint32_t(index->entries().size());
}

void read_pieces(const Value& model, const ModelOptions& options, ModelSpec* spec) {
    const auto& pieces = required(model, "vocab").as_array("model.vocab");
    if (pieces.size() >= kMaxIds) unsupported("a vocabulary of more than 2097150 tokens");
    for (const Value& piece : pieces) {
        const auto& pair = piece.as_array("a piece of model.vocab");
        if (pair.size() != 2) malformed("a piece of model.vocab is not a token and a score");
        spec->tokens.emplace_back(pair[0].as_string("a token of model.vocab"));
        spec->scores.push_back(pair[1].as_number("a score of model.vocab"));
        spec->score_ulps.push_back(pair[1].ulps_to_nearest());
    }
    spec->present.assign(spec->tokens.size(), 1);
    spec->model_size = uint32_t(spec->tokens.size());
    if (options.unk_id && *options.unk_id >= spec->model_size) malformed("unk_id is not in the vocabulary");
}

// The tokens before and after the single space of a line.
std::pair<std::string_view, std::string_view> split_merge(std::string_view line) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
        malformed("a merge is not two tokens: " + json::quote(line));
    return {line.substr(0, space), line.substr(space + 1)};
}

void read_merges(const Value& model, const ModelOptions& options, const TokenIndex& index, ModelSpec* spec) {
    const auto find = [&](std::string_view token, const char* role) {
        const uint32_t id = index.find(token);
        if (id == kNoId)
            malformed(std::string("the ") + role + " of a merge is not in the vocabulary: " + json::quote(token));
        return id;
    };
    const size_t prefix_size = options.continuing_subword_prefix.value_or("").size();
    const auto& list = required(model, "merges").as_array("model.merges");
    if (list.size() >= kMaxMerges) unsupported("more than 4194302 merges");
    spec->merges.reserve(list.size());
    std::string product;
    for (const Value& merge : list) {
        std::string_view left, right;
        if (merge.is_string() != list[0].is_string()) malformed("some merges are strings and some are pairs");
        if (merge.is_string()) {
            const std::string_view line = merge.as_string("a merge");
            if (line.rfind("#version", 0) == 0) continue;
            std::tie(left, right) = split_merge(line);
        } else {
            const auto& two = merge.as_array("a merge");
            if (two.size() != 2) malformed("a merge is not two tokens");
            left = two[0].as_string("a merge");
            right = two[1].as_string("a merge");
        }
        const uint32_t left_id = find(left, "left part"), right_id = find(right, "right part");
        // The reference panics on such a merge.
        if (right.size() < prefix_size || (prefix_size < right.size() && (uint8_t(right[prefix_size]) & 0xC0) == 0x80))
            malformed("the right part of a merge is cut by the prefix: " + json::quote(right));
        product.assign(left).append(right.substr(prefix_size));
        const uint32_t product_id = find(product, "product");
        // Such merges make the reference apply other merges out of order.
        if (product_id == left_id) unsupported("a merge that adds nothing to its left part");
        spec->merges.push_back({left_id, right_id, product_id});
    }
}

ModelSpec read_as(const Value& model, ModelType type) {
    ModelSpec spec;
    TokenIndex index;
    const ModelOptions options = read_model_options(model, type);
    if (type == ModelType::unigram)
        read_pieces(model, options, &spec);
    else
        read_vocab(model, &spec, &index);
    if (type == ModelType::bpe) read_merges(model, options, index, &spec);
    // With an affix, the tokens of bytes would extend outside the text.
    if (options.byte_fallback &&
        (!options.continuing_subword_prefix.value_or("").empty() || !options.end_of_word_suffix.value_or("").empty()))
        unsupported("model BPE with byte_fallback and a prefix or suffix");
    spec.options = write_model_options(options);
    return spec;
}

// Writes a float as serde_json does: enough digits to identify it, and ".0" if it has no fraction.
std::string number_text(float value) {
    char text[32];
    for (int digits = 1; digits <= 9; ++digits) {
        std::snprintf(text, sizeof text, "%.*g", digits, double(value));
        if (std::strtof(text, nullptr) == value) break;
    }
    std::string out = text;
    std::replace(out.begin(), out.end(), ',', '.');  // a locale may write a comma
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    return out;
}

}  // namespace

std::optional<ModelType> read_model_type(const Value& model) {
    model.as_object("model");
    const Value* type = model.find("type");
    if (type == nullptr) return std::nullopt;
    const std::string_view name = type->as_string("model.type");
    for (size_t i = 0; i < std::size(kTypeNames); ++i)
        if (name == kTypeNames[i]) return ModelType(i);
    malformed("the model's type is " + json::quote(name));
}

ModelOptions read_model_options(const Value& model, ModelType type) {
    ModelOptions options;
    options.type = type;
    switch (type) {
        case ModelType::bpe:
            options.dropout = read_dropout(model);
            options.unk_token = optional_string(model, "unk_token");
            options.continuing_subword_prefix = optional_string(model, "continuing_subword_prefix");
            options.end_of_word_suffix = optional_string(model, "end_of_word_suffix");
            options.fuse_unk = optional_flag(model, "fuse_unk");
            options.byte_fallback = optional_flag(model, "byte_fallback");
            options.ignore_merges = optional_flag(model, "ignore_merges");
            break;
        case ModelType::word_piece:
            options.continuing_subword_prefix =
                std::string(required(model, "continuing_subword_prefix").as_string("continuing_subword_prefix"));
            options.max_input_chars_per_word =
                as_size(required(model, "max_input_chars_per_word"), "max_input_chars_per_word");
            options.unk_token = std::string(required(model, "unk_token").as_string("unk_token"));
            break;
        case ModelType::word_level:
            options.unk_token = std::string(required(model, "unk_token").as_string("unk_token"));
            break;
        case ModelType::unigram:
            if (const Value* v = model.find("unk_id"); given(v))
                options.unk_id = uint32_t(std::min<uint64_t>(as_size(*v, "unk_id"), kNoId));
            if (const Value* v = model.find("byte_fallback"); v != nullptr)
                options.byte_fallback = v->as_bool("byte_fallback");
            break;
    }
    return options;
}

std::string write_model_options(const ModelOptions& options) {
    std::string out = std::string("{\"type\":\"") + kTypeNames[size_t(options.type)] + '"';
    const auto add = [&](const char* name, const std::string& value) {
        out += ",\"" + std::string(name) + "\":" + value;
    };
    const auto text = [](const std::optional<std::string>& s) { return s ? json::quote(*s) : std::string("null"); };
    const auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
    switch (options.type) {
        case ModelType::bpe:
            add("dropout", options.dropout ? number_text(*options.dropout) : "null");
            add("unk_token", text(options.unk_token));
            add("continuing_subword_prefix", text(options.continuing_subword_prefix));
            add("end_of_word_suffix", text(options.end_of_word_suffix));
            add("fuse_unk", flag(options.fuse_unk));
            add("byte_fallback", flag(options.byte_fallback));
            add("ignore_merges", flag(options.ignore_merges));
            break;
        case ModelType::word_piece:
            add("unk_token", text(options.unk_token));
            add("continuing_subword_prefix", text(options.continuing_subword_prefix));
            add("max_input_chars_per_word", std::to_string(options.max_input_chars_per_word));
            break;
        case ModelType::word_level:
            add("unk_token", text(options.unk_token));
            break;
        case ModelType::unigram:
            add("unk_id", options.unk_id ? std::to_string(*options.unk_id) : "null");
            add("byte_fallback", flag(options.byte_fallback));
            break;
    }
    return out + '}';
}

ModelSpec read_model_spec(const Value& model) {
    if (const std::optional<ModelType> type = read_model_type(model)) return read_as(model, *type);
    // A model without "type" has the first of these types whose fields fit.
    for (const ModelType type : {ModelType::bpe, ModelType::word_piece, ModelType::word_level, ModelType::unigram}) {
        try {
            return read_as(model, type);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::vocabulary) throw;
        }
    }
    malformed("the model has no type, and the fields of none");
}

}  // namespace crayon
