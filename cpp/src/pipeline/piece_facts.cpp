#include "pipeline/piece_facts.h"

#include <cstring>
#include <optional>
#include <string>

#include "crayon/json/json.h"
#include "crayon/support/error.h"
#include "models/model_common.h"
#include "normalizers/piece_normalizer.h"
#include "pipeline/pipeline.h"
#include "support/base64.h"

namespace crayon {
namespace {

using json::Value;

[[noreturn]] void fail(const std::string& what) {
    throw Error(ErrorKind::cartridge, "section metadata: \"sentencepiece\": " + what);
}

const Value* find(const Value& object, const char* name) {
    const Value* value = object.is_object() ? object.find(name) : nullptr;
    return value == nullptr || value->is_null() ? nullptr : value;
}

std::string decoded(const Value& value, const char* name) {
    std::string bytes;
    if (!from_base64(value.as_string(name), &bytes)) fail(std::string(name) + " is not base64");
    return bytes;
}

std::vector<uint32_t> ids_of(const Value& facts, const char* name, const Cartridge& cartridge) {
    std::vector<uint32_t> ids;
    const Value* list = find(facts, name);
    if (list == nullptr) return ids;
    for (const Value& id : list->as_array(name)) {
        const double number = id.as_number(name);
        if (!(number >= 0 && number < cartridge.program().n_ids)) fail(std::string(name) + " has no id");
        ids.push_back(uint32_t(number));
    }
    return ids;
}

std::optional<PieceModel> model_of(const Value& facts) {
    const Value* name = find(facts, "model");
    if (name == nullptr) return std::nullopt;
    constexpr std::string_view kNames[] = {"unigram", "bpe", "char", "word"};
    for (size_t i = 0; i < std::size(kNames); ++i)
        if (name->as_string("model") == kNames[i]) return PieceModel(i);
    fail("a model of an unknown type");
}

std::vector<float> scores_of(const Value& facts) {
    const Value* scores = find(facts, "scores");
    if (scores == nullptr) return {};
    const std::string bytes = decoded(*scores, "scores");
    if (bytes.empty() || bytes.size() % sizeof(float) != 0) fail("scores are not numbers of 4 bytes");
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
    return out;
}

// The rules of the first Precompiled in a normalizer, at any depth of Sequence; empty without one.
std::string charsmap_in(const Value* normalizer) {
    if (normalizer == nullptr) return {};
    if (const Value* map = find(*normalizer, "precompiled_charsmap")) return decoded(*map, "precompiled_charsmap");
    const Value* parts = find(*normalizer, "normalizers");
    if (parts != nullptr)
        for (const Value& part : parts->as_array("normalizers"))
            if (std::string found = charsmap_in(&part); !found.empty()) return found;
    return {};
}

PieceNormalizerOptions normalizer_options(const Value& facts, const Value& flags, const Value* component,
                                          const Cartridge& cartridge) {
    const auto flag = [&](const char* name) {
        const Value* value = find(flags, name);
        if (value == nullptr) fail(std::string("normalizer without ") + name);
        return value->as_bool(name);
    };
    PieceNormalizerOptions options;
    options.add_dummy_prefix = flag("add_dummy_prefix");
    options.remove_extra_whitespaces = flag("remove_extra_whitespaces");
    options.escape_whitespaces = flag("escape_whitespaces");
    options.treat_whitespace_as_suffix = flag("treat_whitespace_as_suffix");
    options.charsmap = charsmap_in(component);
    for (const uint32_t id : ids_of(facts, "user_defined", cartridge))
        options.user_defined.push_back(cartridge.bytes_of(id).view());
    return options;
}

bool is_same(const Value* a, const Value* b) {
    return a == nullptr || b == nullptr ? a == b : json::serialize(*a) == json::serialize(*b);
}

OwnParts read(const Value& facts, const Cartridge& cartridge, const Value& components, bool with_model) {
    OwnParts parts;
    const json::Document compiled = json::parse(cartridge.components.view());
    const auto is_own = [&](const char* name) { return is_same(find(compiled.root, name), find(components, name)); };
    const Value* flags = find(facts, "normalizer");
    if (flags != nullptr && is_own("normalizer"))
        parts.normalizer =
            make_piece_normalizer(normalizer_options(facts, *flags, find(components, "normalizer"), cartridge));
    const std::optional<PieceModel> model = model_of(facts);
    if (!model || !with_model) return parts;
    if (!is_own("model")) {
        if (find(facts, "inexact") == nullptr) return parts;
        throw Error(ErrorKind::unsupported,
                    "a SentencePiece model with changed options, which a tokenizer.json cannot express");
    }
    // The components' pre-tokenizer does what the SentencePiece library's normalizer does with spaces.
    parts.takes_whole_text = is_own("pre_tokenizer") && is_own("normalizer");
    PieceFacts pieces;
    pieces.model = *model;
    pieces.scores = scores_of(facts);
    pieces.never = control_ids(cartridge);
    pieces.unused = ids_of(facts, "unused", cartridge);
    pieces.user_defined = ids_of(facts, "user_defined", cartridge);
    if (const Value* raised = find(facts, "raised")) pieces.raised = raised->as_number("raised");
    const ModelOptions options = read_typed_options(*components.find("model"));
    if ((*model == PieceModel::unigram) != (options.type == ModelType::unigram)) fail("a model of another type");
    parts.model = *model == PieceModel::unigram ? make_single_precision_unigram(options, cartridge, pieces)
                                                : make_pieces(options, cartridge, pieces);
    return parts;
}

}  // namespace

OwnParts own_parts(const Cartridge& cartridge, const Value& components, bool with_model) {
    if (!cartridge.has_text_tokens()) return {};
    const json::Document document = json::parse(cartridge.metadata.view());
    const Value* facts = document.root.is_object() ? find(document.root, "sentencepiece") : nullptr;
    if (facts == nullptr) return {};
    if (!facts->is_object()) fail("not an object");
    try {
        return read(*facts, cartridge, components, with_model);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::cartridge || error.kind() == ErrorKind::unsupported) throw;
        fail(error.what());
    }
}

}  // namespace crayon
