// The cartridge sections of models on text: writes them, and verifies them by building them again.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "compiler/merge_tables.h"
#include "compiler/model_spec.h"
#include "crayon/cartridge/double_array.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "encode/merger/char_pairs.h"
#include "encode/merger/merge.h"
#include "encode/merger/reachable_merges.h"
#include "models/model_common.h"

namespace crayon {
namespace {

[[noreturn]] void fail(const std::string& message) {
    throw Error(ErrorKind::cartridge, message);
}

void check(bool holds, const char* fault) {
    if (!holds) fail(fault);
}

// Builds the trie of a model's tokens. Of tokens with equal strings, which only a Unigram model can have, it holds the
// last. It lacks the empty string.
DoubleArray trie_of(const ModelSpec& spec) {
    std::vector<std::pair<std::string_view, int32_t>> keys;
    for (size_t id = 0; id < spec.tokens.size(); ++id)
        if (spec.present[id] && !spec.tokens[id].empty()) keys.emplace_back(spec.tokens[id], int32_t(id));
    sort_keys(&keys);
    size_t n = 0;
    for (size_t i = 0; i < keys.size(); ++i)
        if (i + 1 == keys.size() || keys[i].first != keys[i + 1].first) keys[n++] = keys[i];
    keys.resize(n);
    return n == 0 ? DoubleArray() : build_double_array(keys);
}

template <typename Find>
std::vector<uint32_t> find_byte_ids(Find find) {
    std::vector<uint32_t> ids(256);
    for (int b = 0; b < 256; ++b) ids[size_t(b)] = find(byte_token(uint8_t(b)));
    return ids;
}

double least_of(const double* scores, size_t n) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < n; ++i) least = std::min(least, scores[i]);
    return least;
}

// Builds the section char_pairs from the strings of the ids in `products`, each string once.
template <typename BytesOf>
std::vector<uint64_t> char_pairs_of(std::vector<uint32_t> products, bool text_only, BytesOf bytes_of) {
    std::sort(products.begin(), products.end());
    products.erase(std::unique(products.begin(), products.end()), products.end());
    std::vector<std::string_view> strings;
    strings.reserve(products.size());
    for (const uint32_t id : products) strings.push_back(bytes_of(id));
    return build_char_pairs(strings, text_only);
}

bool is_model_token(const Cartridge& c, uint32_t id) {
    return id < c.program().n_ids && (c.token_flags[id] & kModel);
}

// The tokens of bytes; empty without byte_fallback.
class ByteTokens {
  public:
    explicit ByteTokens(std::vector<uint32_t> byte_ids) : ids_(std::move(byte_ids)) {
        std::sort(ids_.begin(), ids_.end());
    }
    bool has(uint32_t id) const { return std::binary_search(ids_.begin(), ids_.end(), id); }

  private:
    std::vector<uint32_t> ids_;
};

template <typename T>
bool is_section(Bytes section, const std::vector<T>& values) {
    return section.size == values.size() * sizeof(T) &&
           (section.size == 0 || std::memcmp(section.data, values.data(), section.size) == 0);
}

void check_trie(const Cartridge& c) {
    const uint32_t n_ids = c.program().n_ids;
    check(c.token_offsets[0] == 0 && c.token_offsets[n_ids] == c.token_bytes.size &&
              std::is_sorted(c.token_offsets.begin(), c.token_offsets.end()),
          "section token_offsets does not cover section token_bytes");
    if (c.trie.size > 0) {
        try {
            verify_double_array(c.trie, n_ids);
        } catch (const Error& error) {
            fail(std::string("section trie: ") + error.what());
        }
    }
    size_t keys = 0, values = 0;
    for (uint32_t id = 0; id < n_ids; ++id) {
        if (!is_model_token(c, id)) continue;
        const Bytes bytes = c.bytes_of(id);
        check(utf8_error(bytes.data, bytes.size) == bytes.size, "section token_bytes has a token that is not UTF-8");
        if (bytes.empty()) continue;
        const int32_t found = c.trie.find(bytes);
        check(found >= int64_t(id) && is_model_token(c, uint32_t(found)) &&
                  c.bytes_of(uint32_t(found)).view() == bytes.view(),
              "section trie has no id, or a wrong one, for a token's string");
        keys += uint32_t(found) == id;
    }
    for (uint32_t i = 0; i < c.trie.size; ++i) values += c.trie.values[i] >= 0 && (i == 0 || c.trie.check[i] >= 0);
    check(keys == values, "section trie has a key that is not a token");
}

// A search ends at an empty place, so an empty place must follow every full one soon.
void check_chains(Array<uint64_t> table) {
    size_t chain = 0, empty = 0;
    for (size_t i = 0; i < 2 * table.size; ++i) {  // twice, because chains wrap around
        chain = table[i & (table.size - 1)] != kEmptyPair ? chain + 1 : 0;
        empty += chain == 0;
        check(chain <= kLongestChain, "section pair_table has a chain that is too long");
    }
    check(empty > 0, "section pair_table has no empty place");
}

void check_merges(const Cartridge& c, size_t prefix_size, Checks checks) {
    check(c.pair_table.size >= 2 && !c.pair_filter.empty(), "a BPE model has no section pair_table or pair_filter");
    for (const uint32_t id : c.merge_products)
        check(is_model_token(c, id), "section merge_products has an id that is not a model token");
    check_chains(c.pair_table);
    const MergeTables tables = MergeTables::of(c);
    std::vector<bool> seen(tables.n_merges);
    const ByteTokens byte_tokens({c.byte_ids.begin(), c.byte_ids.end()});
    bool text_only = true;
    for (const uint64_t slot : c.pair_table) {
        if (slot == kEmptyPair) continue;
        const uint32_t rank = uint32_t(slot & kMaxMerges);
        const uint32_t left = uint32_t(slot >> (kIdBits + kRankBits)), right = uint32_t(slot >> kRankBits) & kMaxIds;
        check(rank < tables.n_merges && is_model_token(c, left) && is_model_token(c, right),
              "section pair_table names a rank or an id that does not exist");
        check(!seen[rank], "section pair_table has a rank twice");
        seen[rank] = true;
        text_only &= !byte_tokens.has(left) && !byte_tokens.has(right);
        const uint64_t bit = tables.filter_bit(left, right);
        check(c.pair_filter[bit >> 6] >> (bit & 63) & 1, "section pair_filter lacks a pair of section pair_table");
        check(tables.rank(left, right) == rank, "section pair_table has a pair where a search does not find it");
        const Bytes product = c.bytes_of(c.merge_products[rank]), l = c.bytes_of(left), r = c.bytes_of(right);
        check(r.size > prefix_size && product.size == l.size + r.size - prefix_size &&
                  product.slice(0, l.size).view() == l.view() &&
                  product.slice(l.size, product.size).view() == r.slice(prefix_size, r.size).view(),
              "section merge_products has a product without the strings of its pair");
    }
    if (!c.reachable_slots.empty())
        check(verify_reachable_slots(c, tables) == seen, "section reachable_slots lacks a merge of section pair_table");
    const Bytes pairs = c.section(Section::char_pairs);
    check(is_char_pairs_size(pairs.size), "section char_pairs does not match the merges");
    if (checks == Checks::memory) return;
    const std::vector<uint32_t> products(c.merge_products.begin(), c.merge_products.end());
    const auto bytes_of = [&](uint32_t id) { return c.bytes_of(id).view(); };
    check(is_section(pairs, char_pairs_of(products, text_only, bytes_of)),
          "section char_pairs does not match the merges");
}

void check_scores(const Cartridge& c, const ModelOptions& options) {
    check(!c.scores.empty(), "a Unigram model has no section scores");
    const size_t n = c.scores.size - 1;
    check(n <= c.program().n_ids, "section scores has more scores than ids");
    for (uint32_t id = 0; id < c.program().n_ids; ++id)
        check(bool(c.token_flags[id] & kModel) == (id < n), "section scores does not have just the model's tokens");
    for (const double score : c.scores) check(!std::isnan(score), "section scores has a NaN");
    for (size_t id = 0; id < c.score_ulps.size; ++id)
        check(!std::isnan(moved_by(c.scores[id], c.score_ulps[id])), "section score_ulps turns a score into NaN");
    check(c.scores[n] == least_of(c.scores.data, n), "section scores does not end with the least score");
    check(!options.unk_id || *options.unk_id < n, "the model's unk_id is not a token");
}

ModelOptions options_of(const Cartridge& c) {
    try {
        const json::Document document = json::parse(c.section(Section::components).view());
        const json::Value* model = document.root.find("model");
        const std::optional<ModelType> type = model ? read_model_type(*model) : std::nullopt;
        if (!type) fail("it has no model with a type");
        return read_model_options(*model, *type);
    } catch (const Error& error) {
        fail(std::string("section components: ") + error.what());
    }
}

}  // namespace

void add_model_sections(const ModelSpec& spec, CartridgeWriter* writer) {
    const json::Document document = json::parse(spec.options);
    const ModelOptions options = read_model_options(document.root, *read_model_type(document.root));
    const DoubleArray trie = trie_of(spec);
    std::vector<uint32_t> byte_ids;
    if (options.byte_fallback) {
        const DoubleArrayView view = view_of(trie);
        byte_ids = find_byte_ids([&](const std::string& token) {
            const int32_t id = view.find(token);
            return id >= 0 ? uint32_t(id) : kNoId;
        });
    }
    writer->add_array(Section::byte_ids, byte_ids);
    writer->add_trie(Section::trie, trie);
    if (options.type == ModelType::unigram) {
        std::vector<double> scores = spec.scores;
        scores.push_back(least_of(scores.data(), scores.size()));
        writer->add_array(Section::scores, scores);
        const auto fits = [](int32_t ulps) { return ulps >= INT8_MIN && ulps <= INT8_MAX; };
        if (std::all_of(spec.score_ulps.begin(), spec.score_ulps.end(), fits))
            writer->add_array(Section::score_ulps, std::vector<int8_t>(spec.score_ulps.begin(), spec.score_ulps.end()),
                              0);
    }
    if (options.type != ModelType::bpe) return;
    const ByteTokens byte_tokens(std::move(byte_ids));
    bool text_only = true;
    MergeTablesBuilder tables(spec.merges.size());
    for (const ModelSpec::Merge& merge : spec.merges) {
        tables.add(merge.left, merge.right, merge.product);
        text_only &= !byte_tokens.has(merge.left) && !byte_tokens.has(merge.right);
    }
    writer->add_array(Section::merge_products, tables.products);
    writer->add_array(Section::pair_table, tables.slots);
    writer->add_array(Section::pair_filter, tables.filter);
    const auto bytes_of = [&](uint32_t id) { return std::string_view(spec.tokens[id]); };
    writer->add_array(Section::char_pairs, char_pairs_of(tables.products, text_only, bytes_of));
    const ReachableMerges live = build_reachable_merges(tables.slots);
    writer->add_array(Section::reachable_pilots, live.pilots);
    writer->add_array(Section::reachable_slots, live.slots);
}

void verify_model_sections(const Cartridge& c, Checks checks) {
    const ModelOptions options = options_of(c);
    check_trie(c);
    const Bytes byte_ids = c.section(Section::byte_ids);
    if (options.byte_fallback)
        check(is_section(byte_ids, find_byte_ids([&](const std::string& token) { return find_model_token(c, token); })),
              "section byte_ids does not match the vocabulary");
    else
        check(byte_ids.empty(), "section byte_ids belongs to a model with byte_fallback");
    const bool is_bpe = options.type == ModelType::bpe;
    const std::string prefix = options.continuing_subword_prefix.value_or(""),
                      suffix = options.end_of_word_suffix.value_or("");
    check(!options.byte_fallback || (prefix.empty() && suffix.empty()),
          "the model has byte_fallback and a prefix or suffix");
    if (is_bpe)
        check_merges(c, prefix.size(), checks);
    else
        check(c.merge_products.empty() && c.pair_table.empty() && c.pair_filter.empty() && c.reachable_slots.empty() &&
                  c.section(Section::char_pairs).empty(),
              "only a BPE model has merges");
    if (options.type == ModelType::unigram)
        check_scores(c, options);
    else
        check(c.scores.empty() && c.score_ulps.empty(), "only a Unigram model has scores");
}

}  // namespace crayon
