#include "crayon/compiler.h"

#include <algorithm>
#include <cstring>

#include "byte_level.h"
#include "crayon/cartridge.h"
#include "crayon/error.h"
#include "crayon/normalize.h"
#include "crayon/unicode.h"
#include "merge.h"
#include "post_program.h"
#include "tokenizer_json.h"
#include "word_table.h"

namespace crayon {
namespace {

struct Tables {
    std::vector<uint32_t> byte_ids, products, byte_pair_ranks;
    std::vector<uint64_t> slots, filter;
    uint32_t shift = 0, filter_shift = 0;

    MergeTables view() const {
        MergeTables t;
        t.byte_ids = byte_ids.data();
        t.byte_pair_ranks = byte_pair_ranks.data();
        t.products = products.data();
        t.filter = filter.data();
        t.filter_shift = filter_shift;
        t.slots = slots.data();
        t.slot_mask = slots.size() - 1;
        t.slot_shift = shift;
        t.n_merges = uint32_t(products.size());
        return t;
    }
};

Tables build_tables(const TokenizerSpec& spec) {
    Tables t;
    t.byte_ids.assign(256, 0);
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
        const auto& token = spec.tokens[id];
        if (token.in_model && !token.raw && token.bytes.size() == 1) t.byte_ids[uint8_t(token.bytes[0])] = uint32_t(id);
    }
    // At most 60% full, so that a probe ends soon.
    uint32_t log2 = 4;
    while ((size_t(1) << log2) * 6 < spec.merges.size() * 10) ++log2;
    t.slots.assign(size_t(1) << log2, kEmptyPair);
    t.shift = 64 - log2;
    const uint64_t mask = t.slots.size() - 1;
    // One bit in eight set, at most.
    uint32_t filter_log2 = 6;
    while ((size_t(1) << filter_log2) < spec.merges.size() * 8) ++filter_log2;
    t.filter.assign((size_t(1) << filter_log2) / 64, 0);
    t.filter_shift = 64 - filter_log2;
    for (const auto& merge : spec.merges) {
        // No bytes spell a raw token, so no merge ever has one to work on.
        if (spec.tokens[merge.left].raw || spec.tokens[merge.right].raw) continue;
        const uint64_t key = pair_key(merge.left, merge.right);
        uint64_t i = pair_hash(key, t.shift);
        size_t chain = 0;
        for (; t.slots[i] != kEmptyPair && t.slots[i] >> kRankBits != key; i = (i + 1) & mask)
            if (++chain == kLongestChain)
                throw Error(ErrorKind::unsupported, "a vocabulary whose merges were made to collide");
        const uint64_t bit = pair_hash(key, t.filter_shift);
        t.filter[bit >> 6] |= uint64_t(1) << (bit & 63);
        t.slots[i] = key << kRankBits | t.products.size();  // of equal pairs the last counts, as in the reference
        t.products.push_back(merge.product);
    }
    t.byte_pair_ranks.resize(65536);
    const MergeTables view = t.view();
    for (uint32_t pair = 0; pair < 65536; ++pair)
        t.byte_pair_ranks[pair] = view.rank(t.byte_ids[pair >> 8], t.byte_ids[pair & 255]);
    return t;
}

DoubleArray trie_of(std::vector<std::pair<std::string_view, int32_t>> keys) {
    if (keys.empty()) return {};
    std::sort(keys.begin(), keys.end());
    return build_double_array(keys);
}

std::string normalized_content(const TokenizerSpec& spec, const std::string& content) {
    if (spec.normalizer != NormalizerKind::nfc) return content;
    std::string out;
    normalize_nfc(content, &out, nullptr);
    return out;
}

void add_added_tokens(const TokenizerSpec& spec, CartridgeWriter* writer) {
    std::vector<AddedToken> records;
    std::vector<std::pair<std::string_view, int32_t>> plain_keys, normalized_keys;
    for (const auto& token : spec.added) {
        const bool is_normalized = token.flags & kNormalized;
        // The reference then has two spellings of one token, and shows now one, now the other.
        if (is_normalized && normalized_content(spec, token.content) != token.content)
            throw Error(ErrorKind::unsupported, "an added token that the normalizer changes");
        (is_normalized ? normalized_keys : plain_keys).emplace_back(token.content, int32_t(records.size()));
        records.push_back({token.id, token.flags});
    }
    writer->add_array(Section::added_tokens, records);
    writer->add_trie(Section::added_trie, trie_of(std::move(plain_keys)));
    writer->add_trie(Section::added_trie_normalized, trie_of(std::move(normalized_keys)));
}

}  // namespace

std::string compile_tokenizer_json(std::string_view tokenizer_json, const CompileOptions& options) {
    const TokenizerSpec spec = read_tokenizer_json(tokenizer_json, options.flavor);
    const Tables tables = build_tables(spec);
    const MergeTables merges = tables.view();
    const size_t n = spec.tokens.size();

    std::vector<uint32_t> offsets{0};
    std::string bytes;
    std::vector<uint8_t> flags(n, 0);
    std::vector<uint16_t> trim(2 * n, 0);
    std::vector<uint32_t> raw, ids;
    std::vector<std::pair<std::string_view, int32_t>> keys;
    WordTableBuilder words;
    Merger merger;
    uint32_t max_token_bytes = 0;
    for (size_t id = 0; id < n; ++id) {
        const auto& token = spec.tokens[id];
        bytes += token.bytes;
        if (bytes.size() > 0xFFFFFFFFu) throw Error(ErrorKind::unsupported, "a vocabulary of more than 4 GiB");
        offsets.push_back(uint32_t(bytes.size()));
        max_token_bytes = std::max(max_token_bytes, uint32_t(token.bytes.size()));
        if (!token.present) continue;
        flags[id] = uint8_t(kPresent | (token.raw ? kRaw : 0) | (token.in_model ? kModel : 0));
        const WhiteEnds white = white_ends(token.text);
        trim[id] = white.leading;
        trim[n + id] = white.trailing;
        if (token.raw) raw.push_back(uint32_t(id));
        if (!token.in_model || token.raw) continue;
        keys.emplace_back(token.bytes, int32_t(id));
        // What the pretoken of these bytes becomes is the merges' word, not the entry's (docs/cartridge-format.md).
        ids.resize(token.bytes.size());
        size_t count = 1;
        if (spec.ignore_merges)
            ids[0] = uint32_t(id);
        else
            count = merger.merge_whole(merges, token.bytes, ids.data());
        if (count == 1 && ids[0] == id) flags[id] |= kWhole;
        words.add(token.bytes, ids.data(), count);
    }
    for (const auto& token : spec.added)
        flags[token.id] |= uint8_t(kAdded | (token.flags & kSpecialToken ? kSpecial : 0));
    std::sort(raw.begin(), raw.end(),
              [&](uint32_t a, uint32_t b) { return spec.tokens[a].bytes < spec.tokens[b].bytes; });

    Program program{};
    program.family = uint32_t(spec.family);
    program.flavor = uint32_t(options.flavor);
    program.normalizer = uint32_t(spec.normalizer);
    program.flags = (spec.ignore_merges ? kIgnoreMerges : 0u) | (spec.add_prefix_space ? kAddPrefixSpace : 0u);
    program.n_ids = uint32_t(n);
    program.model_size = spec.model_size;
    program.vocab_size = spec.vocab_size;
    program.n_merges = uint32_t(tables.products.size());
    program.max_token_bytes = max_token_bytes;

    CartridgeWriter writer;
    writer.add(Section::metadata, options.metadata);
    writer.add(Section::program, std::string(reinterpret_cast<const char*>(&program), sizeof program));
    writer.add_array(Section::token_offsets, offsets);
    writer.add(Section::token_bytes, bytes);
    writer.add_array(Section::token_flags, flags);
    writer.add_array(Section::token_trim, trim);
    writer.add_array(Section::raw_tokens, raw);
    writer.add_array(Section::byte_ids, tables.byte_ids);
    writer.add_array(Section::byte_pair_ranks, tables.byte_pair_ranks);
    writer.add_array(Section::merge_products, tables.products);
    writer.add_array(Section::pair_table, tables.slots);
    writer.add_array(Section::pair_filter, tables.filter);
    writer.add_array(Section::word_table, words.finish());
    writer.add_trie(Section::trie, trie_of(std::move(keys)));
    add_added_tokens(spec, &writer);
    writer.add_array(Section::post_processor, write_post_program(spec.post_processor));
    return writer.finish(options.source_digest);
}

}  // namespace crayon
