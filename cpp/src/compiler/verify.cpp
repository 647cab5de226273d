// Verifies a cartridge before it is trusted.
//
// After Checks::memory the engine cannot read outside the file or search without end, and the tokens of a text have the
// bytes of the text. After Checks::whole the engine also gives only the ids of its own merges, because each derived
// table is built again. Building takes as long as all other checks together.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/merge_tables.h"
#include "compiler/model_spec.h"
#include "crayon/cartridge/cartridge.h"
#include "crayon/cartridge/cartridge_v2.h"
#include "crayon/compiler/certificate.h"
#include "crayon/json/json.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/support/error.h"
#include "crayon/support/xxh64.h"
#include "crayon/unicode/unicode.h"
#include "encode/memo/word_table.h"
#include "encode/merger/byte_cuts.h"
#include "encode/merger/merge.h"
#include "encode/merger/reachable_merges.h"
#include "models/model_common.h"
#include "pipeline/pipeline.h"
#include "pipeline/vocabulary.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

[[noreturn]] void fail(const std::string& message) {
    throw Error(ErrorKind::cartridge, message);
}

void check(bool holds, const char* fault) {
    if (!holds) fail(fault);
}

void check_layout(const Cartridge& c) {
    const Bytes file = c.file();
    size_t done = sizeof(Header) + c.table().size * sizeof(SectionEntry);
    const auto pad_to = [&](uint64_t end, const std::string& where) {
        if (end < done) fail(where + " overlaps the data before it");
        if (end - done >= kSectionAlignment) fail("unused space before " + where);
        for (; done < end; ++done)
            if (file[done] != 0) fail("the padding before " + where + " is not zero");
    };
    for (const SectionEntry& entry : c.table()) {
        const std::string name = section_name(entry.type);
        pad_to(entry.offset, "section " + name);
        done = size_t(entry.offset + entry.size);
        if (xxh64(file.slice(size_t(entry.offset), done)) != entry.checksum)
            fail("damaged: the checksum of section " + name + " does not match");
    }
    pad_to(file.size, "the end of the file");
    check(file.size % kSectionAlignment == 0, "the file does not end on a multiple of 64 bytes");
}

void check_json(Bytes text, const char* section) {
    try {
        check(json::parse(text.view()).root.is_object(), "it is not an object");
    } catch (const Error& error) {
        fail(std::string("section ") + section + " is not a JSON object: " + error.what());
    }
}

void check_reads_alike(const Cartridge& c) {
    const Bytes flag = c.section(Section::reads_alike);
    check(flag.empty() || (flag.size == 1 && (flag[0] == 1 || flag[0] == 3)), "section reads_alike is not 1 or 3");
}

void check_program(const Program& p) {
    const bool is_known =
        p.flags == 0 || p.flags == kIgnoreMerges || p.flags == kTextTokens || p.flags == kLongestMatch;
    check(p.flavor < kFlavorCount && is_known &&
              std::all_of(std::begin(p.reserved), std::end(p.reserved), [](uint32_t word) { return word == 0; }),
          "section program has a value that is not known here");
}

bool is_model_token(const Cartridge& c, uint32_t id) {
    return id < c.program().n_ids && (c.token_flags[id] & (kPresent | kModel | kRaw)) == (kPresent | kModel);
}

// The vocabulary's spelling of a token.
std::string string_of(const Cartridge& c, uint32_t id) {
    const Bytes bytes = c.bytes_of(id);
    return c.has_text_tokens() || (c.token_flags[id] & kRaw) ? std::string(bytes.view()) : to_byte_level(bytes);
}

bool has_trim(const Cartridge& c, uint32_t id) {
    const WhiteEnds white = white_ends(string_of(c, id));
    return c.token_trim[id] == white.leading && c.token_trim[size_t(c.program().n_ids) + id] == white.trailing;
}

void check_tokens(const Cartridge& c) {
    const Program& p = c.program();
    check(c.token_offsets[0] == 0 && c.token_offsets[p.n_ids] == c.token_bytes.size,
          "section token_offsets does not cover section token_bytes");
    // Checks all offsets before any token.
    check(std::is_sorted(c.token_offsets.begin(), c.token_offsets.end()), "section token_offsets is not in order");
    uint32_t model = 0, present = 0, raw = 0;
    size_t longest = 0;
    std::string spelled;
    for (uint32_t id = 0; id < p.n_ids; ++id) {
        const uint8_t flags = c.token_flags[id];
        const Bytes bytes = c.bytes_of(id);
        check((flags & ~uint8_t(127)) == 0, "section token_flags has an unknown flag");
        check((flags & kPresent) ? (flags & (kModel | kAdded)) != 0 : flags == 0 && bytes.empty(),
              "section token_flags has a token that is not of the vocabulary");
        check(!(flags & kSpecial) || (flags & kAdded), "section token_flags has a special token that is not added");
        if (c.has_text_tokens()) {
            check(!(flags & (kRaw | kWhole | kMerged)), "section token_flags has a flag of byte-level tokens");
            check(utf8_error(bytes.data, bytes.size) == bytes.size,
                  "section token_bytes has a token that is not UTF-8");
        } else if (flags & kRaw) {
            check(utf8_error(bytes.data, bytes.size) == bytes.size,
                  "section token_bytes has a raw token that is not UTF-8");
            check(bytes.empty() || !from_byte_level(bytes.view(), &spelled),
                  "section token_flags has a raw token whose string spells bytes");
        } else {
            check(!(flags & kPresent) || !bytes.empty(), "section token_bytes has no bytes for a token");
        }
        check(has_trim(c, id), "section token_trim has a wrong count of white space");
        present += (flags & kPresent) != 0;
        model += (flags & kModel) != 0;
        raw += (flags & kRaw) != 0;
        longest = std::max(longest, bytes.size);
    }
    check(p.n_ids > 0 && (c.token_flags[p.n_ids - 1] & kPresent), "section program has a wrong n_ids");
    check(model == p.model_size && present == p.vocab_size, "section program has wrong counts of tokens");
    check(longest == p.max_token_bytes, "section program has a wrong max_token_bytes");
    check(c.raw_tokens.size == raw, "section raw_tokens does not list every raw token");
    for (size_t i = 0; i < c.raw_tokens.size; ++i) {
        const uint32_t id = c.raw_tokens[i];
        check(id < p.n_ids && (c.token_flags[id] & kRaw), "section raw_tokens names a token that is not raw");
        check(i == 0 || c.bytes_of(c.raw_tokens[i - 1]).view() < c.bytes_of(id).view(),
              "section raw_tokens is not sorted");
    }
}

void check_byte_ids(const Cartridge& c) {
    for (const uint32_t id : c.byte_ids)
        check(is_model_token(c, id), "section byte_ids has an id that is not a model token");
    for (uint32_t b = 0; b < 256; ++b)
        check(c.bytes_of(c.byte_ids[b]).size == 1 && c.bytes_of(c.byte_ids[b])[0] == b,
              "section byte_ids gives a byte another byte's token");
}

// A search ends at an empty place, so an empty place must follow every full one soon.
template <typename IsFull>
void check_chains(size_t places, const char* section, IsFull is_full) {
    size_t chain = 0, empty = 0;
    for (size_t i = 0; i < 2 * places; ++i) {  // twice, because chains wrap around
        chain = is_full(i % places) ? chain + 1 : 0;
        empty += chain == 0;
        if (chain > kLongestChain)
            fail(std::string("section ") + section + " has a chain of more than " + std::to_string(kLongestChain));
    }
    if (empty == 0) fail(std::string("section ") + section + " has no empty place");
}

// Every token that encoding can give has as many bytes as the text that it encodes. Offsets rely on this.
void check_merges(const Cartridge& c, const MergeTables& tables, Checks checks) {
    for (const uint32_t id : c.merge_products)
        check(is_model_token(c, id), "section merge_products has an id that is not a model token");
    check_chains(c.pair_table.size, "pair_table", [&](size_t i) { return c.pair_table[i] != kEmptyPair; });
    std::vector<bool> seen(tables.n_merges);
    for (const uint64_t slot : c.pair_table) {
        if (slot == kEmptyPair) continue;
        const uint32_t rank = uint32_t(slot & kMaxMerges);
        const uint32_t left = uint32_t(slot >> (kIdBits + kRankBits)), right = uint32_t(slot >> kRankBits) & kMaxIds;
        check(rank < tables.n_merges && is_model_token(c, left) && is_model_token(c, right),
              "section pair_table names a rank or an id that does not exist");
        check(!seen[rank], "section pair_table has a rank twice");
        seen[rank] = true;
        const uint64_t bit = tables.filter_bit(left, right);
        check(c.pair_filter[bit >> 6] >> (bit & 63) & 1, "section pair_filter lacks a pair of section pair_table");
        check(tables.rank(left, right) == rank, "section pair_table has a pair where a search does not find it");
        const Bytes product = c.bytes_of(c.merge_products[rank]), l = c.bytes_of(left), r = c.bytes_of(right);
        check(product.size == l.size + r.size && product.slice(0, l.size).view() == l.view() &&
                  product.slice(l.size, product.size).view() == r.view(),
              "section merge_products has a product without the bytes of its pair");
    }
    if (checks == Checks::memory) {
        for (uint32_t pair = 0; pair < 65536; ++pair) {
            const uint32_t rank = c.byte_pair_ranks[pair];
            const uint8_t bytes[2] = {uint8_t(pair >> 8), uint8_t(pair)};
            check(rank == kNoRank ||
                      (rank < tables.n_merges && c.bytes_of(c.merge_products[rank]).view() == Bytes(bytes, 2).view()),
                  "section byte_pair_ranks differs from section pair_table");
        }
        return;
    }
    for (uint32_t pair = 0; pair < 65536; ++pair)
        check(c.byte_pair_ranks[pair] == tables.rank(c.byte_ids[pair >> 8], c.byte_ids[pair & 255]),
              "section byte_pair_ranks differs from section pair_table");
    const std::vector<uint64_t> cuts = build_byte_cuts({c.merge_products.begin(), c.merge_products.end()},
                                                       [&](uint32_t id) { return c.bytes_of(id).view(); });
    check(std::equal(cuts.begin(), cuts.end(), c.byte_cuts.begin(), c.byte_cuts.end()),
          "section byte_cuts does not match the merges");
}

// Checks reachable_slots: it must have all reachable merges, only merges of pair_table, and each merge where the search
// finds it.
void check_live_merges(const Cartridge& c, const MergeTables& tables, Checks checks) {
    if (c.reachable_slots.empty()) return;
    const std::vector<bool> has = verify_reachable_slots(c, tables);
    if (checks == Checks::memory) return;
    std::vector<std::string_view> tokens(c.program().n_ids);
    for (uint32_t id = 0; id < tokens.size(); ++id)
        if (is_model_token(c, id)) tokens[id] = c.bytes_of(id).view();
    for (const uint32_t rank : reachable_ranks(tables, tokens))
        check(has[rank], "section reachable_slots lacks a reachable merge");
}

// Checks that the trie is sound and has exactly `keys` keys. If all expected keys are found, the trie has no others.
void check_trie(const DoubleArrayView& trie, const char* section, size_t value_limit, size_t keys) {
    if (trie.size == 0 && keys == 0) return;
    try {
        verify_double_array(trie, int64_t(value_limit));
    } catch (const Error& error) {
        fail(std::string("section ") + section + ": " + error.what());
    }
    size_t found = 0;
    for (uint32_t i = 0; i < trie.size; ++i) found += trie.values[i] >= 0 && (i == 0 || trie.check[i] >= 0);
    if (found != keys)
        fail(std::string("section ") + section + " has " + std::to_string(found) + " keys, expected " +
             std::to_string(keys));
}

void check_same_trie(const DoubleArrayView& trie, const DoubleArray& expected, const char* section, size_t values) {
    const DoubleArrayView wanted = view_of(expected);
    if (wanted.size == 0) {
        if (trie.size != 0) fail(std::string("section ") + section + " has keys, but no added token is searched there");
        return;
    }
    const auto keys = list_double_array(wanted);
    check_trie(trie, section, values, keys.size());
    for (const auto& [key, value] : keys)
        if (trie.find(key) != value)
            fail(std::string("section ") + section + " has no index, or a wrong one, for a token");
}

void check_model_trie(const Cartridge& c) {
    const uint32_t n_ids = c.program().n_ids;
    size_t keys = 0;
    for (uint32_t id = 0; id < n_ids; ++id) keys += is_model_token(c, id);
    check_trie(c.trie, "trie", n_ids, keys);
    for (uint32_t id = 0; id < n_ids; ++id) {
        if (!(c.token_flags[id] & kPresent) || (c.token_flags[id] & kRaw)) continue;
        check(c.trie.find(c.bytes_of(id)) == (is_model_token(c, id) ? int32_t(id) : -1),
              "section trie has no id, or a wrong one, for a token's bytes");
    }
}

const WordEntry* entry_of(const Cartridge& c, Bytes word) {
    const WordKey key = word_key(word.begin(), word.size, word.end());
    return find_word(c.word_table.data, c.word_table.size / 2 - 1, word_hash(key.lo, key.hi), key);
}

constexpr char kOtherIds[] = "section word_table has an entry whose ids are not its word's";

// Checks that a search finds each entry, and that the tokens of an entry's ids have the bytes of its word.
void check_word_table(const Cartridge& c) {
    const size_t buckets = c.word_table.size / 2;
    check_chains(buckets, "word_table", [&](size_t b) { return c.word_table[2 * b + 1].key[1] != 0; });
    for (const WordEntry& entry : c.word_table) {
        const size_t size = (entry.key[1] >> 56) & 15, count = word_ids(entry);
        const auto is_zero = [](uint32_t id) { return id == 0; };
        if (entry.key[1] == 0) {
            check(entry.key[0] == 0 && std::all_of(entry.ids, entry.ids + kWordIds, is_zero),
                  "section word_table has an empty entry that is not zero");
            continue;
        }
        check(size > 0 && count > 0 && count <= kWordIds, "section word_table has an entry of a wrong size");
        const Bytes word(reinterpret_cast<const uint8_t*>(entry.key), size);
        check(entry_of(c, word) == &entry, "section word_table has an entry where a search does not find it");
        size_t done = 0;
        for (size_t i = 0; i < kWordIds; ++i) {
            if (i >= count) {
                check(entry.ids[i] == 0, kOtherIds);
                continue;
            }
            check(is_model_token(c, entry.ids[i]), kOtherIds);
            const Bytes bytes = c.bytes_of(entry.ids[i]);
            check(bytes.size <= size - done && bytes.view() == word.slice(done, done + bytes.size).view(), kOtherIds);
            done += bytes.size;
        }
        check(done == size, kOtherIds);
    }
}

// Checks that the word table and the flags kWhole and kMerged agree with the merges, because encoding uses them before
// it merges.
void check_words(const Cartridge& c, const MergeTables& tables) {
    const bool ignore_merges = c.program().flags & kIgnoreMerges;
    Merger merger;
    std::vector<uint32_t> ids;
    const auto encode = [&](Bytes word) {
        ids.resize(word.size);
        const int32_t id = ignore_merges ? c.trie.find(word) : -1;
        if (id >= 0)
            ids.assign(1, uint32_t(id));
        else
            ids.resize(merger.merge(tables, word, ids.data()));
    };
    for (const WordEntry& entry : c.word_table) {
        if (entry.key[1] == 0) continue;
        const size_t size = (entry.key[1] >> 56) & 15;
        encode(Bytes(reinterpret_cast<const uint8_t*>(entry.key), size));
        check(ids.size() == word_ids(entry) && std::equal(ids.begin(), ids.end(), entry.ids), kOtherIds);
    }
    for (uint32_t id = 0; id < c.program().n_ids; ++id) {
        const bool is_whole = c.token_flags[id] & kWhole;
        if (!is_model_token(c, id)) {
            check(!(c.token_flags[id] & (kWhole | kMerged)),
                  "section token_flags has a whole token that no text becomes");
            continue;
        }
        const Bytes word = c.bytes_of(id);
        const WordEntry* entry = word.size <= kWordKeyBytes ? entry_of(c, word) : nullptr;
        check(entry || !ignore_merges || word.size > kWordKeyBytes, "section word_table lacks a token");
        if (!entry) encode(word);
        check(is_whole == (entry ? word_ids(*entry) == 1 : ids.size() == 1),
              "section token_flags has a wrong flag for a whole token");
        bool is_merged = is_whole;
        if (ignore_merges) {
            ids.resize(word.size);
            is_merged = merger.merge(tables, word, ids.data()) == 1 && ids[0] == id;
        }
        check(bool(c.token_flags[id] & kMerged) == is_merged,
              "section token_flags has a wrong flag for a merged token");
    }
}

// Checks tables of longest match. The trie alone decides the ids of a pretoken, so it must find every token by its own
// bytes.
void check_match(const Cartridge& c) {
    for (const Section unused :
         {Section::merge_products, Section::pair_table, Section::pair_filter, Section::byte_pair_ranks,
          Section::word_table, Section::reachable_pilots, Section::reachable_slots, Section::byte_cuts})
        if (!c.section(unused).empty())
            fail(std::string("section ") + section_name(uint32_t(unused)) +
                 " does not belong in tables of longest match");
    for (uint32_t id = 0; id < c.program().n_ids; ++id)
        check((c.token_flags[id] & (kWhole | kMerged)) == (is_model_token(c, id) ? kWhole : 0),
              "section token_flags has a wrong flag for a whole token");
}

void check_added(const Cartridge& c, const Normalizer* normalizer) {
    const uint32_t n_ids = c.program().n_ids;
    size_t added = 0;
    for (uint32_t id = 0; id < n_ids; ++id) added += (c.token_flags[id] & kAdded) != 0;
    check(c.added_tokens.size == added, "section added_tokens does not list every added token");
    std::vector<bool> seen(n_ids);
    std::vector<AddedTokenSpec> tokens;
    for (const AddedToken& token : c.added_tokens) {
        check(token.id < n_ids && (c.token_flags[token.id] & kAdded) && !seen[token.id] && token.flags < 32 &&
                  !(token.flags & kSpecialToken) == !(c.token_flags[token.id] & kSpecial),
              "section added_tokens differs from section token_flags");
        seen[token.id] = true;
        tokens.push_back({token.id, token.flags, string_of(c, token.id)});
    }
    // The tries of added tokens are small: builds them again and compares them key by key.
    const AddedTries expected = build_added_tries(tokens, normalizer);
    check_same_trie(c.added_trie, expected.plain, "added_trie", added);
    check_same_trie(c.added_trie_normalized, expected.normalized, "added_trie_normalized", added);
}

}  // namespace

void verify_cartridge(const Cartridge& cartridge, Checks checks) {
    if (checks == Checks::header) return;
    check_layout(cartridge);
    check_json(cartridge.metadata, "metadata");
    certificate_of(cartridge);
    check_program(cartridge.program());
    check_reads_alike(cartridge);
    check_json(cartridge.components, "components");
    check_tokens(cartridge);
    if (cartridge.has_text_tokens()) {
        verify_model_sections(cartridge, checks);
    } else {
        check_byte_ids(cartridge);
        check_model_trie(cartridge);
        if (cartridge.has_merges()) {
            const MergeTables tables = MergeTables::of(cartridge);
            check_merges(cartridge, tables, checks);
            check_live_merges(cartridge, tables, checks);
            check_word_table(cartridge);
            if (checks == Checks::whole) check_words(cartridge, tables);
        } else {
            check_match(cartridge);
        }
    }
    try {
        const Pipeline pipeline = make_pipeline(cartridge.components.view(), cartridge, kScalarKernels);
        if (!cartridge.has_text_tokens() && !cartridge.has_merges())
            read_typed_options(*json::parse(cartridge.components.view()).root.find("model"));
        check_added(cartridge, pipeline.normalizer.get());
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::cartridge) throw;
        fail(std::string("section components: ") + error.what());
    }
}

}  // namespace crayon
