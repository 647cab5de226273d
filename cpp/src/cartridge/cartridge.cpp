// Writes and opens version 3 cartridges.
#include "crayon/cartridge/cartridge.h"

#include <algorithm>
#include <cstring>

#include "crayon/support/error.h"
#include "crayon/support/xxh64.h"

namespace crayon {
namespace {

[[noreturn]] void fail(const std::string& message) {
    throw Error(ErrorKind::cartridge, message);
}

uint64_t table_checksum(const Header& header, const void* table, size_t size) {
    Header plain = header;
    plain.checksum = 0;
    std::string all(reinterpret_cast<const char*>(&plain), sizeof plain);
    all.append(static_cast<const char*>(table), size);
    return xxh64(all);
}

size_t align_up(size_t n) {
    return (n + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

bool is_power_of_two(size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

}  // namespace

const char* section_name(uint32_t type) {
    static const char* const names[] = {nullptr,         "metadata",       "program",          "trie",
                                        "token_offsets", "token_bytes",    "token_flags",      "token_trim",
                                        "byte_ids",      "merge_products", "pair_table",       "byte_pair_ranks",
                                        "word_table",    "added_tokens",   "added_trie",       "added_trie_normalized",
                                        "components",    "raw_tokens",     "certificate",      "pair_filter",
                                        "scores",        "char_pairs",     "reachable_pilots", "reachable_slots",
                                        "byte_cuts",     "score_ulps",     "reads_alike"};
    return type != 0 && type < sizeof names / sizeof *names ? names[type] : "unknown";
}

void CartridgeWriter::add(Section type, std::string bytes, uint32_t flags) {
    parts_.push_back({type, flags, std::move(bytes)});
}

void CartridgeWriter::add_trie(Section type, const DoubleArray& trie) {
    std::string bytes;
    for (const auto* part : {&trie.base, &trie.check, &trie.values})
        bytes.append(reinterpret_cast<const char*>(part->data()), part->size() * sizeof(int32_t));
    add(type, std::move(bytes));
}

std::string CartridgeWriter::finish(const std::array<uint8_t, 32>& source_digest) const {
    std::vector<SectionEntry> table;
    size_t offset = align_up(sizeof(Header) + parts_.size() * sizeof(SectionEntry));
    for (const SectionBytes& part : parts_) {
        table.push_back({uint32_t(part.type), part.flags, offset, part.bytes.size(), xxh64(part.bytes)});
        offset = align_up(offset + part.bytes.size());
    }
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.version = kVersion;
    header.file_size = offset;
    header.section_count = uint32_t(parts_.size());
    header.revision = kRevision;
    std::memcpy(header.source_digest, source_digest.data(), source_digest.size());
    header.checksum = table_checksum(header, table.data(), table.size() * sizeof(SectionEntry));

    std::string file(offset, '\0');
    std::memcpy(&file[0], &header, sizeof header);
    std::memcpy(&file[sizeof header], table.data(), table.size() * sizeof(SectionEntry));
    for (size_t i = 0; i < parts_.size(); ++i)
        if (!parts_[i].bytes.empty()) std::memcpy(&file[table[i].offset], parts_[i].bytes.data(), table[i].size);
    return file;
}

template <typename T>
Array<T> Cartridge::array(Section type) const {
    const Bytes bytes = section(type);
    if (bytes.size % sizeof(T) != 0)
        fail(std::string("section ") + section_name(uint32_t(type)) + " is not a whole number of elements");
    return {reinterpret_cast<const T*>(bytes.data), bytes.size / sizeof(T)};
}

template <typename T>
Array<T> Cartridge::array(Section type, size_t count) const {
    const Array<T> found = array<T>(type);
    if (found.size != count)
        fail(std::string("section ") + section_name(uint32_t(type)) + " has " + std::to_string(found.size) +
             " elements, expected " + std::to_string(count));
    return found;
}

DoubleArrayView Cartridge::trie_view(Section type) const {
    const Array<int32_t> all = array<int32_t>(type);
    if (all.size % 3 != 0 || all.size / 3 > 0x7FFFFFFF)
        fail(std::string("section ") + section_name(uint32_t(type)) + " is not three equal arrays");
    const size_t n = all.size / 3;
    return {all.data, all.data + n, all.data + 2 * n, uint32_t(n)};
}

Cartridge::Cartridge(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {
    const Bytes file = storage_->bytes();
    if (file.size < sizeof(uint32_t) * 2) fail("too short for a cartridge: " + std::to_string(file.size) + " bytes");
    const auto own = std::make_shared<Own>();
    own_ = own;
    std::memcpy(&own->header, file.data, std::min(file.size, sizeof(Header)));
    const Header& header = own->header;
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) fail("not a cartridge: it does not begin with CRAY");
    if (header.version == 2) fail("a version 2 (CRAYON) cartridge: it holds no merges, only greedy mode can use it");
    if (header.version != kVersion)
        fail("cartridge version " + std::to_string(header.version) + " is not supported (only 3 is): compile it again");
    if (file.size < sizeof(Header)) fail("truncated: the header is cut: download or compile it again");
    if (header.revision != kRevision)
        fail("cartridge revision " + std::to_string(header.revision) + " is not supported (only " +
             std::to_string(kRevision) + " is): compile it again");
    if (header.file_size != file.size)
        fail("truncated or extended: the file has " + std::to_string(file.size) + " bytes, its header says " +
             std::to_string(header.file_size) + ": download or compile it again");
    const size_t count = header.section_count;
    if (count > kMaxSections || sizeof(Header) + count * sizeof(SectionEntry) > file.size)
        fail("the section table does not fit: " + std::to_string(count) + " sections");
    own->table.resize(count);
    if (count != 0) std::memcpy(own->table.data(), file.data + sizeof(Header), count * sizeof(SectionEntry));
    if (table_checksum(header, own->table.data(), count * sizeof(SectionEntry)) != header.checksum)
        fail("damaged: the checksum of header and section table does not match");
    for (const SectionEntry& entry : own->table) {
        const char* name = section_name(entry.type);
        if (entry.offset % kSectionAlignment != 0 || entry.offset > file.size || entry.size > file.size - entry.offset)
            fail(std::string("section ") + name + " is outside the file");
        if (entry.type == 0 || entry.type >= kSectionTypes) {
            if (entry.flags & kSectionRequired)
                fail("section type " + std::to_string(entry.type) + " is required, but unknown");
            continue;
        }
        Bytes& slot = sections_[entry.type];
        if (slot.data != nullptr) fail(std::string("section ") + name + " appears twice");
        slot = file.slice(entry.offset, entry.offset + entry.size);
    }
    if (section(Section::program).size != sizeof(Program)) fail("section program is missing or has a wrong size");
    std::memcpy(&own->program, section(Section::program).data, sizeof(Program));
    program_ = &own->program;
    const size_t n = program_->n_ids;
    if (n > kMaxIds || program_->n_merges > kMaxMerges) fail("the vocabulary is larger than a cartridge can hold");

    const auto bounded = [&](Section type, const char* name, size_t most) {
        const Bytes bytes = section(type);
        if (bytes.size > most)
            fail(std::string("section ") + name + " has " + std::to_string(bytes.size) + " bytes, more than the " +
                 std::to_string(most) + " allowed");
        return bytes.view();
    };
    own->metadata = bounded(Section::metadata, "metadata", kMaxMetadata);
    own->components = bounded(Section::components, "components", kMaxComponents);
    metadata = own->metadata;
    components = own->components;
    token_bytes = section(Section::token_bytes);
    trie = trie_view(Section::trie);
    added_trie = trie_view(Section::added_trie);
    added_trie_normalized = trie_view(Section::added_trie_normalized);
    token_offsets = array<uint32_t>(Section::token_offsets, n + 1);
    token_flags = array<uint8_t>(Section::token_flags, n);
    token_trim = array<uint16_t>(Section::token_trim, 2 * n);
    merge_products = array<uint32_t>(Section::merge_products, program_->n_merges);
    pair_table = array<uint64_t>(Section::pair_table);
    pair_filter = array<uint64_t>(Section::pair_filter);
    added_tokens = array<AddedToken>(Section::added_tokens);
    raw_tokens = array<uint32_t>(Section::raw_tokens);
    scores = array<double>(Section::scores);
    score_ulps = array<int8_t>(Section::score_ulps);
    if (!score_ulps.empty() && !scores.empty()) score_ulps = array<int8_t>(Section::score_ulps, scores.size - 1);
    byte_ids = array<uint32_t>(Section::byte_ids);
    if (!byte_ids.empty() || !has_text_tokens()) byte_ids = array<uint32_t>(Section::byte_ids, 256);
    // A model on text may have merges; tables of longest match have none. Neither has byte_ids or byte_pair_ranks.
    if (has_merges() || !pair_table.empty()) {
        // With a single slot the hash would be a shift by 64 bits.
        if (pair_table.size < 2 || !is_power_of_two(pair_table.size))
            fail("section pair_table has a length that is not a power of two, or less than 2");
        if (!is_power_of_two(pair_filter.size)) fail("section pair_filter has a length that is not a power of two");
    }
    reachable_pilots = array<uint16_t>(Section::reachable_pilots);
    reachable_slots = array<uint64_t>(Section::reachable_slots);
    if (!reachable_pilots.empty() || !reachable_slots.empty()) {
        if (reachable_pilots.size < 2 || !is_power_of_two(reachable_pilots.size))
            fail("section reachable_pilots has a length that is not a power of two, or less than 2");
        if (reachable_slots.size < 2 || !is_power_of_two(reachable_slots.size) ||
            reachable_slots.size > size_t(1) << kRankBits)
            fail("section reachable_slots has a length that is not a power of two from 2 to 2^22");
    }
    if (!has_merges()) return;
    byte_pair_ranks = array<uint32_t>(Section::byte_pair_ranks, 65536);
    word_table = array<WordEntry>(Section::word_table);
    if (word_table.size % 2 != 0 || !is_power_of_two(word_table.size / 2))
        fail("section word_table has a number of buckets that is not a power of two");
    byte_cuts = array<uint64_t>(Section::byte_cuts);
    if (!is_byte_cuts_size(byte_cuts.size)) fail("section byte_cuts has a filter whose length is not a power of two");
}

Cartridge Cartridge::with_nearest_scores(bool nearest) const {
    Cartridge made = *this;
    made.scores = array<double>(Section::scores);
    made.own_scores_.reset();
    if (!nearest) return made;
    if (score_ulps.empty()) throw Error(ErrorKind::unsupported, "a cartridge without the nearest scores");
    auto moved = std::make_shared<std::vector<double>>(made.scores.begin(), made.scores.end());
    moved->pop_back();
    for (size_t id = 0; id < moved->size(); ++id) (*moved)[id] = moved_by((*moved)[id], score_ulps[id]);
    moved->push_back(*std::min_element(moved->begin(), moved->end()));
    made.scores = {moved->data(), moved->size()};
    made.own_scores_ = std::move(moved);
    return made;
}

double moved_by(double score, int8_t ulps) {
    uint64_t bits;
    std::memcpy(&bits, &score, sizeof bits);
    bits += uint64_t(int64_t(ulps));
    std::memcpy(&score, &bits, sizeof bits);
    return score;
}

Cartridge open_cartridge(const std::string& path) {
    const auto storage = open_file(path);
    return named(path, [&] { return Cartridge(storage); });
}

}  // namespace crayon
