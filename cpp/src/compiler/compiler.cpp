#include "crayon/compiler/compiler.h"

#include <algorithm>
#include <cstring>

#include "compiler/merge_tables.h"
#include "compiler/tokenizer_json.h"
#include "crayon/cartridge/cartridge.h"
#include "crayon/support/error.h"
#include "encode/memo/word_table.h"
#include "encode/merger/byte_cuts.h"
#include "encode/merger/merge.h"
#include "encode/merger/reachable_merges.h"
#include "pipeline/pipeline.h"
#include "pipeline/vocabulary.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

std::vector<uint32_t> byte_ids_of(const TokenizerSpec& spec) {
    std::vector<uint32_t> ids(256);
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
        const auto& token = spec.tokens[id];
        if (token.in_model && !token.raw && token.bytes.size() == 1) ids[uint8_t(token.bytes[0])] = uint32_t(id);
    }
    return ids;
}

// The merge tables of byte-level BPE, and the tables derived from them.
struct ByteTables {
    MergeTablesBuilder merges;
    std::vector<uint32_t> byte_ids, byte_pair_ranks;

    explicit ByteTables(const TokenizerSpec& spec)
        : merges(spec.merges.size()), byte_ids(byte_ids_of(spec)), byte_pair_ranks(65536) {
        // Text never contains a raw token, so its merges never apply.
        for (const ModelSpec::Merge& merge : spec.merges)
            if (!spec.tokens[merge.left].raw && !spec.tokens[merge.right].raw)
                merges.add(merge.left, merge.right, merge.product);
        const MergeTables tables = view();
        for (uint32_t pair = 0; pair < 65536; ++pair)
            byte_pair_ranks[pair] = tables.rank(byte_ids[pair >> 8], byte_ids[pair & 255]);
    }

    MergeTables view() const {
        MergeTables t;
        t.byte_ids = byte_ids.data();
        t.byte_pair_ranks = byte_pair_ranks.data();
        t.products = merges.products.data();
        t.filter = merges.filter.data();
        t.filter_shift = merges.filter_shift;
        t.slots = merges.slots.data();
        t.slot_mask = merges.slots.size() - 1;
        t.slot_shift = merges.shift;
        t.n_merges = uint32_t(merges.products.size());
        return t;
    }
};

DoubleArray trie_of(std::vector<std::pair<std::string_view, int32_t>> keys) {
    if (keys.empty()) return {};
    sort_keys(&keys);
    return build_double_array(keys);
}

void add_added_tokens(const TokenizerSpec& spec, CartridgeWriter* writer) {
    std::vector<AddedToken> records;
    for (const auto& token : spec.added) records.push_back({token.id, token.flags});
    const AddedTries tries = build_added_tries(spec.added, spec.normalizer.get());
    writer->add_array(Section::added_tokens, records);
    writer->add_trie(Section::added_trie, tries.plain);
    writer->add_trie(Section::added_trie_normalized, tries.normalized);
}

// Builds the sections about tokens: those of every cartridge, and those of byte-level tables only.
struct TokenSections {
    std::vector<uint32_t> offsets{0}, raw;
    std::string bytes;
    std::vector<uint8_t> flags;
    std::vector<uint16_t> trim;
    uint32_t max_token_bytes = 0;
};

TokenSections build_tokens(const TokenizerSpec& spec) {
    const size_t n = spec.tokens.size();
    TokenSections out;
    out.flags.resize(n);
    out.trim.resize(2 * n);
    for (size_t id = 0; id < n; ++id) {
        const auto& token = spec.tokens[id];
        out.bytes += token.bytes;
        if (out.bytes.size() > 0xFFFFFFFFu) throw Error(ErrorKind::unsupported, "a vocabulary of more than 4 GiB");
        out.offsets.push_back(uint32_t(out.bytes.size()));
        out.max_token_bytes = std::max(out.max_token_bytes, uint32_t(token.bytes.size()));
        if (!token.present) continue;
        out.flags[id] = uint8_t(kPresent | (token.raw ? kRaw : 0) | (token.in_model ? kModel : 0));
        const WhiteEnds white = white_ends(token.text);
        out.trim[id] = white.leading;
        out.trim[n + id] = white.trailing;
        if (token.raw) out.raw.push_back(uint32_t(id));
    }
    for (const auto& token : spec.added)
        out.flags[token.id] |= uint8_t(kAdded | (token.flags & kSpecialToken ? kSpecial : 0));
    std::sort(out.raw.begin(), out.raw.end(),
              [&](uint32_t a, uint32_t b) { return spec.tokens[a].bytes < spec.tokens[b].bytes; });
    return out;
}

// Adds the tables of longest match, in which each token of the model encodes to itself. Sets kWhole in `flags`.
void add_match_tables(const TokenizerSpec& spec, std::vector<uint8_t>* flags, CartridgeWriter* writer) {
    std::vector<std::pair<std::string_view, int32_t>> keys;
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
        const auto& token = spec.tokens[id];
        if (!token.in_model || token.raw) continue;
        keys.emplace_back(token.bytes, int32_t(id));
        (*flags)[id] |= kWhole;
    }
    writer->add_array(Section::byte_ids, byte_ids_of(spec));
    writer->add_trie(Section::trie, trie_of(std::move(keys)));
}

// Adds the tables of byte-level BPE. Sets kWhole and kMerged in `flags`. Returns the number of merges.
uint32_t add_byte_tables(const TokenizerSpec& spec, std::vector<uint8_t>* flags, CartridgeWriter* writer) {
    const ByteTables tables(spec);
    const MergeTables merges = tables.view();
    std::vector<std::pair<std::string_view, int32_t>> keys;
    std::vector<uint32_t> ids, last(spec.tokens.size(), kNoRank);
    std::vector<std::string_view> tokens(spec.tokens.size());
    WordTableBuilder words;
    Merger merger;
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
        const auto& token = spec.tokens[id];
        if (!token.in_model || token.raw) continue;
        keys.emplace_back(token.bytes, int32_t(id));
        tokens[id] = token.bytes;
        // Merging decides the ids of a pretoken, not the vocabulary's entry (docs/cartridge-format.md).
        ids.resize(token.bytes.size());
        size_t count = merger.merge_whole(ByteSymbols{merges, token.bytes}, ids.data());
        if (count == 1 && token.bytes.size() <= kLongestTraced) last[id] = merger.last_rank();
        if (count == 1 && ids[0] == id) (*flags)[id] |= kMerged;
        if (spec.ignore_merges) ids[0] = uint32_t(id), count = 1;
        if (count == 1 && ids[0] == id) (*flags)[id] |= kWhole;
        words.add(token.bytes, ids.data(), count);
    }
    writer->add_array(Section::byte_ids, tables.byte_ids);
    writer->add_array(Section::byte_pair_ranks, tables.byte_pair_ranks);
    writer->add_array(Section::merge_products, tables.merges.products);
    writer->add_array(Section::pair_table, tables.merges.slots);
    writer->add_array(Section::pair_filter, tables.merges.filter);
    writer->add_array(Section::word_table, words.finish());
    const auto bytes_of = [&](uint32_t id) { return std::string_view(spec.tokens[id].bytes); };
    writer->add_array(Section::byte_cuts, build_byte_cuts(tables.merges.products, bytes_of));
    writer->add_trie(Section::trie, trie_of(std::move(keys)));
    const ReachableMerges live = build_reachable_merges(merges, reachable_ranks(merges, tokens, last));
    writer->add_array(Section::reachable_pilots, live.pilots);
    writer->add_array(Section::reachable_slots, live.slots);
    return uint32_t(tables.merges.products.size());
}

// Throws the errors that opening the cartridge would throw.
void check_components(const std::string& cartridge) {
    const Cartridge opened(own_bytes(cartridge));
    make_pipeline(opened.components.view(), opened, kScalarKernels);
}

}  // namespace

std::string compile_tokenizer_json(std::string_view tokenizer_json, const CompileOptions& options) {
    const TokenizerSpec spec = read_tokenizer_json(tokenizer_json);
    TokenSections tokens = build_tokens(spec);
    CartridgeWriter writer;
    Program program{};
    program.flavor = uint32_t(options.flavor);
    program.n_ids = uint32_t(spec.tokens.size());
    program.model_size = spec.model_size;
    program.vocab_size = spec.vocab_size;
    program.max_token_bytes = tokens.max_token_bytes;
    if (spec.text_model) {
        program.flags = kTextTokens;
        program.n_merges = uint32_t(spec.text_model->merges.size());
        add_model_sections(*spec.text_model, &writer);
    } else if (spec.longest_match) {
        program.flags = kLongestMatch;
        add_match_tables(spec, &tokens.flags, &writer);
    } else {
        program.flags = spec.ignore_merges ? uint32_t(kIgnoreMerges) : 0;
        program.n_merges = add_byte_tables(spec, &tokens.flags, &writer);
    }
    if (options.metadata.size() > kMaxMetadata)
        throw Error(ErrorKind::unsupported, "metadata of more than " + std::to_string(kMaxMetadata) + " bytes");
    writer.add(Section::metadata, options.metadata);
    writer.add(Section::program, std::string(reinterpret_cast<const char*>(&program), sizeof program));
    if (spec.components.size() > kMaxComponents)
        throw Error(ErrorKind::unsupported, "components of more than " + std::to_string(kMaxComponents) + " bytes");
    writer.add(Section::components, spec.components);
    if (spec.reads_alike) writer.add(Section::reads_alike, spec.has_model_type ? "\1" : "\3", 0);
    writer.add_array(Section::token_offsets, tokens.offsets);
    writer.add(Section::token_bytes, tokens.bytes);
    writer.add_array(Section::token_flags, tokens.flags);
    writer.add_array(Section::token_trim, tokens.trim);
    writer.add_array(Section::raw_tokens, tokens.raw);
    add_added_tokens(spec, &writer);
    std::string cartridge = writer.finish(options.source_digest);
    check_components(cartridge);
    return cartridge;
}

}  // namespace crayon
