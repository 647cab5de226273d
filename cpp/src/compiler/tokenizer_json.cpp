// Converts a tokenizer.json to a TokenizerSpec. Field names and defaults are those of tokenizers 0.23.
#include "compiler/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "crayon/json/json.h"
#include "crayon/support/error.h"
#include "models/model_common.h"
#include "models/token_index.h"
#include "pipeline/pipeline.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

using json::Value;

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

uint32_t id_of(const Value& v, const char* what) {
    const int64_t id = v.as_integer(what);
    if (id < 0) malformed(std::string(what) + " is negative: " + std::to_string(id));
    if (id >= kMaxIds)
        unsupported(std::string(what) + " " + std::to_string(id) + " is too large: ids end at " +
                    std::to_string(kMaxIds - 1));
    return uint32_t(id);
}

void read_byte_vocab(const Value& vocab, TokenizerSpec* spec, TokenIndex* index) {
    const auto& entries = vocab.as_object("model.vocab");
    index->reserve(entries.size());
    uint32_t n_ids = 0;
    for (const auto& [token, id] : entries) index->set(token, id_of(id, "an id in model.vocab"));
    for (const auto& [token, id] : index->entries()) n_ids = std::max(n_ids, id + 1);
    if (n_ids > 2 * entries.size() + 65536) unsupported("a vocabulary with mostly unused ids");
    spec->tokens.resize(n_ids);
    for (const auto& [text, id] : index->entries()) {
        TokenizerSpec::Token& token = spec->tokens[id];
        if (token.present) unsupported("a vocabulary where two tokens share the id " + std::to_string(id));
        token.present = token.in_model = true;
        token.text = std::string(text);
        token.raw = text.empty() || !from_byte_level(text, &token.bytes);
        if (token.raw) token.bytes = token.text;
    }
    spec->model_size = uint32_t(index->entries().size());
}

void read_bpe(const Value& model, const std::vector<uint64_t>& guesses, TokenizerSpec* spec, TokenIndex* index) {
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
    flag(model, "fuse_unk", false);  // has no effect without unknown tokens
    spec->ignore_merges = flag(model, "ignore_merges", false);
    read_byte_vocab(*vocab, spec, index);

    const auto is_token = [&](uint64_t id, std::string_view text) {
        return id < spec->tokens.size() && spec->tokens[id].in_model && spec->tokens[id].text == text;
    };
    const auto find = [&](std::string_view text, uint64_t guess, const char* role) {
        if (is_token(guess, text)) return uint32_t(guess);
        const uint32_t id = index->find(text);
        if (id == kNoId)
            malformed(std::string("the ") + role + " of a merge is not in the vocabulary: " + json::quote(text));
        return id;
    };
    const auto& list = merges->as_array("model.merges");
    spec->merges.reserve(list.size());
    std::string product;
    uint32_t product_id = 0;
    size_t rank = 0;
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
        const uint64_t guess = rank < guesses.size() ? guesses[rank] : kEmptyPair;
        const uint32_t left_id = find(left, guess >> kIdBits, "left part");
        const uint32_t right_id = find(right, guess & kMaxIds, "right part");
        // Merges with a raw token have no rank.
        rank += !spec->tokens[left_id].raw && !spec->tokens[right_id].raw;
        // Guesses the next id, because trained vocabularies number products in the order of merges.
        product_id = find(product, uint64_t(product_id) + 1, "product");
        spec->merges.push_back({left_id, right_id, product_id});
    }
    if (spec->merges.size() >= kMaxMerges) unsupported("more than 4194302 merges");
}

void read_added(const Value* list, bool on_bytes, TokenizerSpec* spec, const TokenIndex& index) {
    if (list == nullptr) return;
    std::unordered_map<std::string, uint32_t> seen;
    uint32_t next = spec->model_size;
    for (const Value& entry : list->as_array("added_tokens")) {
        const Value* id = entry.find("id");
        const Value* content = entry.find("content");
        if (!given(id) || !given(content)) malformed("an added token has no id or no content");
        AddedTokenSpec token{id_of(*id, "the id of an added token"), 0, std::string(content->as_string("content"))};
        const std::string quoted = json::quote(token.content);
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
        if (token.content.empty()) continue;  // the reference skips these, too
        if (const auto first = seen.find(token.content); first != seen.end()) {
            if (first->second != token.flags) unsupported("the added token " + quoted + " twice, with other flags");
            continue;
        }
        seen.emplace(token.content, token.flags);
        // As in the reference, a token that the model has gets the model's id. Any other token gets the next number
        // from the model's size on, whatever the file says; ids of the model beyond its size do not count.
        const uint32_t known = index.find(token.content);
        token.id = known != kNoId ? known : next++;
        if (token.id >= spec->tokens.size()) spec->tokens.resize(size_t(token.id) + 1);
        TokenizerSpec::Token& slot = spec->tokens[token.id];
        if (slot.present && slot.text != token.content) unsupported("the added token " + quoted + " on a used id");
        if (!slot.present) {
            slot.present = true;
            slot.text = token.content;
            slot.raw = on_bytes && !from_byte_level(token.content, &slot.bytes);
            if (!on_bytes || slot.raw) slot.bytes = token.content;
        }
        spec->added.push_back(std::move(token));
    }
}

// Returns the components section: members of the document, unchanged, and `model`, which lacks vocabulary and merges.
std::string components_of(const Value& root, const std::string& model) {
    std::string out = "{";
    for (const char* name : {"truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
        const Value* component = root.find(name);
        out += json::quote(name) + ":" + (given(component) ? json::serialize(*component) : "null") + ",";
    }
    return out + "\"model\":" + model + "}";
}

std::string bpe_options(const Value& model) {
    std::string out = "{\"type\":\"BPE\"";
    for (const auto& [name, value] : model.as_object("model"))
        if (name != "type" && name != "vocab" && name != "merges")
            out += "," + json::quote(name) + ":" + json::serialize(value);
    return out + "}";
}

// Reads a vocabulary that has a token for every byte, spelled in the byte-level alphabet.
void read_byte_model(const Value& root, const Value& model, const std::vector<uint64_t>& guesses, TokenizerSpec* spec,
                     TokenIndex* index) {
    spec->longest_match = is_longest_match(model);
    std::string options;
    if (spec->longest_match) {
        options = write_model_options(read_typed_options(model));
        const Value* vocab = model.find("vocab");
        if (!given(vocab)) malformed("the model has no vocab");
        read_byte_vocab(*vocab, spec, index);
    } else {
        options = bpe_options(model);
        read_bpe(model, guesses, spec, index);
    }
    for (int b = 0; b < 256; ++b) {
        const uint8_t byte = uint8_t(b);
        if (index->find(to_byte_level({&byte, 1})) == kNoId)
            unsupported("a vocabulary without a token for byte " + std::to_string(b));
    }
    spec->components = components_of(root, options);
}

void read_text_model(const Value& root, const Value& model, TokenizerSpec* spec, TokenIndex* index) {
    spec->text_model = read_model_spec(model);
    const ModelSpec& text = *spec->text_model;
    spec->model_size = text.model_size;
    spec->tokens.resize(text.tokens.size());
    for (size_t id = 0; id < text.tokens.size(); ++id) {
        if (!text.present[id]) continue;
        TokenizerSpec::Token& token = spec->tokens[id];
        token.present = token.in_model = true;
        token.text = token.bytes = text.tokens[id];
        index->set(text.tokens[id], uint32_t(id));  // of equal tokens, which a Unigram model can have, the last one's
                                                    // id
    }
    spec->components = components_of(root, text.options);
}

// Whether the vocabulary lists each token once by id, or the pieces of a Unigram model with scores that are not
// integers.
bool lists_by_id(const Value& vocab) {
    if (vocab.is_array()) {
        const auto& pieces = vocab.as_array("model.vocab");
        return std::all_of(pieces.begin(), pieces.end(), [](const Value& piece) {
            return piece.as_array("a piece")[1].type() == Value::Type::number;
        });
    }
    int64_t last = -1;
    for (const auto& [token, id] : vocab.as_object("model.vocab"))
        if (id.as_integer("an id") <= std::exchange(last, id.as_integer("an id"))) return false;
    return true;
}

// Whether each added token is listed once, with its final id and only known fields.
bool lists_added(const Value* list, const TokenizerSpec& spec) {
    if (list == nullptr || list->as_array("added_tokens").size() != spec.added.size()) return false;
    for (size_t i = 0; i < spec.added.size(); ++i) {
        const Value& entry = list->as_array("added_tokens")[i];
        const Value* id = entry.find("id");
        if (entry.as_object("an added token").size() != 7 || id_of(*id, "an id") != spec.added[i].id) return false;
    }
    return true;
}

bool reads_alike(const Value& root, const Value& model, const TokenizerSpec& spec) {
    const Value *vocab = model.find("vocab"), *merges = model.find("merges");
    if (!given(vocab) || !lists_by_id(*vocab) || !lists_added(root.find("added_tokens"), spec)) return false;
    const auto& ranked = spec.text_model ? spec.text_model->merges : spec.merges;
    if (given(merges) && merges->as_array("model.merges").size() != ranked.size()) return false;
    return spec.text_model || std::none_of(ranked.begin(), ranked.end(), [&](const ModelSpec::Merge& merge) {
               return spec.tokens[merge.left].raw || spec.tokens[merge.right].raw;
           });
}

}  // namespace

TokenizerSpec read_tokenizer_json(std::string_view text, const std::vector<uint64_t>& guesses) {
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

    TokenizerSpec spec;
    TokenIndex index;
    const Value* normalizer = root.find("normalizer");
    bool on_bytes = can_work_on_bytes(normalizer, root.find("pre_tokenizer"));
    try {
        if (on_bytes) read_byte_model(root, *model, guesses, &spec, &index);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        spec = TokenizerSpec();
        index.clear();
        on_bytes = false;
    }
    if (!on_bytes) read_text_model(root, *model, &spec, &index);
    read_added(root.find("added_tokens"), on_bytes, &spec, index);
    for (const TokenizerSpec::Token& token : spec.tokens) spec.vocab_size += token.present;
    if (given(normalizer)) spec.normalizer = make_normalizer(*normalizer);
    spec.reads_alike = reads_alike(root, *model, spec);
    spec.has_model_type = given(model->find("type"));
    return spec;
}

}  // namespace crayon
