// Compares a cartridge with the compiler's reading of a tokenizer.json. Skips tries, hash tables, words, cuts and
// counts, because verify.cpp checks them against the parts that are compared here.
#include "crayon/compiler/compare_source.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/tokenizer_json.h"
#include "crayon/decoders/decoders.h"
#include "crayon/json/json.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/error.h"
#include "json/json_difference.h"
#include "models/model_common.h"
#include "pipeline/vocabulary.h"
#include "post/post_process_json.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

using json::Value;

constexpr const char* kHere = " in the tokenizer.json, ";
constexpr const char* kThere = " in the cartridge";

[[noreturn]] void fail(const std::string& message) {
    throw Error(ErrorKind::cartridge, message);
}

std::string differs(const std::string& what, const std::string& here, const std::string& there) {
    return what + ": " + here + kHere + there + kThere;
}

bool given(const Value* v) {
    return v != nullptr && !v->is_null();
}

// Throws the errors that compiling throws after the document was read.
void check_document(const TokenizerSpec& spec, Flavor flavor) {
    const json::Document components = json::parse(spec.components);
    const auto find = [&](const char* name) {
        const Value* found = components.root.find(name);
        return given(found) ? found : nullptr;
    };
    if (const Value* pre_tokenizer = find("pre_tokenizer"))
        make_pre_tokenizer(*pre_tokenizer, {!spec.text_model, flavor});
    if (const Value* post_processor = find("post_processor")) read_post_processor(*post_processor);
    if (const Value* decoder = find("decoder")) make_decoder(*decoder);
    build_added_tries(spec.added, spec.normalizer.get());
}

// The flavor is not in the tokenizer.json. It depends on the library that the metadata names.
std::string flavor_difference(const Cartridge& c) {
    std::string_view reference = "tokenizers";
    json::Document document;
    try {
        document = json::parse(c.metadata.view());
        const Value* named = document.root.find("reference");
        if (given(named)) reference = named->as_string("reference");
    } catch (const Error& error) {
        fail(std::string("section metadata: ") + error.what());
    }
    const Flavor wanted = reference == "tiktoken" ? Flavor::rust_regex : Flavor::oniguruma;
    if (c.program().flavor == uint32_t(wanted)) return "";
    return "flavor: the cartridge's does not fit the library in its metadata (" + shown(json::quote(reference)) + ")";
}

enum class Tables { merges, longest_match, text };

std::string tables_difference(const Cartridge& c, const TokenizerSpec& spec) {
    const auto name = [](Tables tables) {
        return tables == Tables::merges          ? "byte-level merges"
               : tables == Tables::longest_match ? "longest match of bytes"
                                                 : "a model on text";
    };
    const Tables here = spec.text_model ? Tables::text : spec.longest_match ? Tables::longest_match : Tables::merges;
    const Tables there = c.has_text_tokens() ? Tables::text : c.has_merges() ? Tables::merges : Tables::longest_match;
    if (here != there) return differs("model", name(here), name(there));
    const bool ignores = c.program().flags & kIgnoreMerges;
    if (spec.ignore_merges == ignores) return "";
    return differs("model.ignore_merges", ignores ? "false" : "true", ignores ? "true" : "false");
}

// The tokens of the cartridge, whose offsets may be invalid, because the file may be unverified.
class Tokens {
  public:
    explicit Tokens(const Cartridge& cartridge) : c_(cartridge), n_ids_(cartridge.program().n_ids) {
        if (!std::is_sorted(c_.token_offsets.begin(), c_.token_offsets.end()) ||
            c_.token_offsets[n_ids_] > c_.token_bytes.size)
            fail("section token_offsets is not in order");
    }
    uint32_t n_ids() const { return n_ids_; }
    uint8_t flags(size_t id) const { return id < n_ids_ ? c_.token_flags[id] : 0; }
    Bytes bytes(size_t id) const { return c_.bytes_of(uint32_t(id)); }
    // The token's name in messages.
    std::string name(size_t id) const {
        if (!(flags(id) & kPresent)) return "nothing";
        const bool is_spelled = !c_.has_text_tokens() && !(flags(id) & kRaw);
        const std::string string = is_spelled ? to_byte_level(bytes(id)) : std::string(bytes(id).view());
        return shown(json::quote(string)) + (flags(id) & kModel ? "" : " (added)");
    }

  private:
    const Cartridge& c_;
    const uint32_t n_ids_;
};

std::string name_of(const TokenizerSpec& spec, size_t id) {
    if (id >= spec.tokens.size() || !spec.tokens[id].present) return "nothing";
    return shown(json::quote(spec.tokens[id].text)) + (spec.tokens[id].in_model ? "" : " (added)");
}

std::string tokens_difference(const Tokens& tokens, const TokenizerSpec& spec) {
    const size_t n = std::max<size_t>(spec.tokens.size(), tokens.n_ids());
    for (size_t id = 0; id < n; ++id) {
        uint8_t flags = 0;
        std::string_view bytes;
        if (id < spec.tokens.size() && spec.tokens[id].present) {
            const TokenizerSpec::Token& token = spec.tokens[id];
            flags = uint8_t(kPresent | (token.raw ? kRaw : 0) | (token.in_model ? kModel : 0));
            bytes = token.bytes;
        }
        const uint8_t found = tokens.flags(id) & (kPresent | kRaw | kModel);
        if (found == flags && (id >= tokens.n_ids() || tokens.bytes(id).view() == bytes)) continue;
        return differs("token " + std::to_string(id), name_of(spec, id), tokens.name(id));
    }
    if (spec.tokens.size() == tokens.n_ids()) return "";
    return differs("the largest id + 1", std::to_string(spec.tokens.size()), std::to_string(tokens.n_ids()));
}

std::string added_difference(const Cartridge& c, const TokenizerSpec& spec, const Tokens& tokens) {
    const auto name = [](const std::string& token, uint32_t id, uint32_t flags) {
        std::string out = "id " + std::to_string(id) + " " + token;
        const char* const names[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
        for (size_t bit = 0; bit < 5; ++bit)
            if (flags >> bit & 1) out += std::string(" ") + names[bit];
        return out;
    };
    for (size_t i = 0; i < std::max(spec.added.size(), c.added_tokens.size); ++i) {
        const AddedTokenSpec* here = i < spec.added.size() ? &spec.added[i] : nullptr;
        const AddedToken* there = i < c.added_tokens.size ? &c.added_tokens[i] : nullptr;
        if (here != nullptr && there != nullptr && here->id == there->id && here->flags == there->flags) continue;
        return differs("added token " + std::to_string(i),
                       here ? name(name_of(spec, here->id), here->id, here->flags) : "nothing",
                       there ? name(tokens.name(there->id), there->id, there->flags) : "nothing");
    }
    return "";
}

// Returns the pair of each rank, or kEmptyPair for a rank without one.
std::vector<uint64_t> pairs_by_rank(const Cartridge& c) {
    std::vector<uint64_t> pairs(c.merge_products.size, kEmptyPair);
    for (const uint64_t slot : c.pair_table) {
        if (slot == kEmptyPair) continue;
        const size_t rank = size_t(slot & kMaxMerges);
        if (rank >= pairs.size() || pairs[rank] != kEmptyPair)
            fail("section pair_table has a rank twice, or one that does not exist");
        pairs[rank] = slot >> kRankBits;
    }
    return pairs;
}

// Compares merges. `merges` are those of the source that have a rank.
std::string merges_difference(const Cartridge& c, const std::vector<ModelSpec::Merge>& merges, const Tokens& tokens,
                              const TokenizerSpec& spec, const std::vector<uint64_t>& pairs) {
    const auto key_of = [](const ModelSpec::Merge& merge) { return pair_key(merge.left, merge.right); };
    // A pair that is listed twice has the rank of its last listing.
    std::unordered_map<uint64_t, size_t> last;
    if (std::find(pairs.begin(), pairs.end(), kEmptyPair) != pairs.end())
        for (size_t rank = 0; rank < merges.size(); ++rank) last[key_of(merges[rank])] = rank;
    const auto here = [&](size_t rank) {
        if (rank >= merges.size()) return std::string("nothing");
        return name_of(spec, merges[rank].left) + " " + name_of(spec, merges[rank].right);
    };
    const auto there = [&](size_t rank) {
        if (rank >= pairs.size()) return std::string("nothing");
        if (pairs[rank] == kEmptyPair) return std::string("a pair with another rank");
        return tokens.name(size_t(pairs[rank] >> kIdBits)) + " " + tokens.name(size_t(pairs[rank] & kMaxIds));
    };
    for (size_t rank = 0; rank < std::max(merges.size(), pairs.size()); ++rank) {
        if (rank < merges.size() && rank < pairs.size() && c.merge_products[rank] == merges[rank].product) {
            const uint64_t key = key_of(merges[rank]);
            if (pairs[rank] == (last.empty() || last[key] == rank ? key : kEmptyPair)) continue;
        }
        return differs("merge " + std::to_string(rank), here(rank), there(rank));
    }
    return "";
}

std::string scores_difference(const Cartridge& c, const ModelSpec& spec) {
    const std::vector<double>& scores = spec.scores;
    // The last score is the least of the others, so it is not compared.
    const size_t n = c.scores.empty() ? 0 : c.scores.size - 1;
    for (size_t id = 0; id < std::min(scores.size(), n); ++id)
        if (std::memcmp(&scores[id], &c.scores[id], sizeof(double)) != 0)
            return "the score of token " + std::to_string(id);
    for (size_t id = 0; id < std::min(scores.size(), c.score_ulps.size); ++id)
        if (spec.score_ulps[id] != c.score_ulps[id]) return "the nearest score of token " + std::to_string(id);
    if (scores.size() == n) return "";
    return differs("the number of scores", std::to_string(scores.size()), std::to_string(n));
}

// Compares the options of two models as the reader of a tokenizer.json understands them: ignores unknown members, and
// fills in defaults.
std::string options_difference(const Value& here, const Value* there) {
    if (there == nullptr || !there->is_object()) return json_difference("model", &here, there);
    const auto text_of = [](const Value& model) {
        return write_model_options(read_model_options(model, read_model_type(model).value_or(ModelType::bpe)));
    };
    const std::string text = text_of(here);
    std::string other;
    try {
        other = text_of(*there);
    } catch (const Error& error) {
        return std::string("model: the cartridge's is malformed: ") + error.what();
    }
    if (text == other) return "";
    const json::Document a = json::parse(text), b = json::parse(other);
    return json_difference("model", &a.root, &b.root);
}

std::string components_difference(const Cartridge& c, const TokenizerSpec& spec) {
    if (c.components.view() == spec.components) return "";
    const json::Document here = json::parse(spec.components);
    json::Document there;
    try {
        there = json::parse(c.components.view());
    } catch (const Error& error) {
        fail(std::string("section components: ") + error.what());
    }
    if (!there.root.is_object()) fail("section components is not a JSON object");
    const auto compared = {"normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"};
    for (const char* name : compared) {
        std::string found = json_difference(name, here.root.find(name), there.root.find(name));
        if (!found.empty()) return found;
    }
    if (there.root.as_object("components").size() != compared.size() + 1)
        return "components: the cartridge's differ from the compiler's";
    const Value *model = here.root.find("model"), *other = there.root.find("model");
    // For byte-level BPE the compiler copies the file's options.
    const bool is_free = !spec.text_model && !spec.longest_match;
    return is_free ? options_difference(*model, other) : json_difference("model", model, other);
}

}  // namespace

std::string find_mismatch(const Cartridge& c, std::string_view tokenizer_json) {
    const std::vector<uint64_t> pairs = pairs_by_rank(c);
    const TokenizerSpec spec = read_tokenizer_json(tokenizer_json, pairs);
    std::string found = flavor_difference(c);
    check_document(spec, Flavor(c.program().flavor % kFlavorCount));
    if (found.empty()) found = tables_difference(c, spec);
    if (found.empty()) found = components_difference(c, spec);
    const Tokens tokens(c);
    if (found.empty()) found = tokens_difference(tokens, spec);
    if (found.empty()) found = added_difference(c, spec, tokens);
    if (!found.empty()) return found;
    if (spec.text_model) {
        found = merges_difference(c, spec.text_model->merges, tokens, spec, pairs);
        return found.empty() ? scores_difference(c, *spec.text_model) : found;
    }
    // Text never contains a raw token, so merges with one get no rank.
    std::vector<ModelSpec::Merge> merges;
    for (const ModelSpec::Merge& merge : spec.merges)
        if (!spec.tokens[merge.left].raw && !spec.tokens[merge.right].raw) merges.push_back(merge);
    return merges_difference(c, merges, tokens, spec, pairs);
}

}  // namespace crayon
