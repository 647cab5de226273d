// The version 3 cartridge: layout, writer, mapped reader. docs/cartridge-format.md is the contract; this header and
// cartridge_tables.h are its only other home. All integers are little-endian, every section starts on a multiple of 64
// bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/cartridge/cartridge_tables.h"
#include "crayon/cartridge/double_array.h"
#include "crayon/support/bytes.h"
#include "crayon/support/error.h"

namespace crayon {

constexpr char kMagic[4] = {'C', 'R', 'A', 'Y'};
constexpr uint32_t kVersion = 3;
constexpr uint32_t kRevision = 4;  // grows when sections change meaning; a reader refuses any but its own
constexpr size_t kSectionAlignment = 64;
constexpr uint32_t kMaxSections = 256;
constexpr uint64_t kMaxFile = uint64_t(1) << 32;    // bytes; a real one has some tens of millions
constexpr size_t kMaxMetadata = size_t(1) << 20;    // bytes; a real one has some tens
constexpr size_t kMaxComponents = size_t(1) << 24;  // bytes; a parsed text takes some fifty times its size
constexpr uint32_t kSectionTypes = 27;              // one more than the largest Section

struct Header {
    char magic[4];
    uint32_t version;
    uint64_t file_size;
    uint32_t section_count;
    uint32_t revision;
    uint64_t checksum;          // XXH64 of header (this field as zero) and section table
    uint8_t source_digest[32];  // SHA-256 of the tokenizer.json
};
static_assert(sizeof(Header) == 64, "the header is 64 bytes");

enum class Section : uint32_t {
    metadata = 1,       // JSON text
    program = 2,        // Program
    trie = 3,           // double array over the bytes of the model's tokens; value = id
    token_offsets = 4,  // uint32[n_ids + 1] into token_bytes
    token_bytes = 5,
    token_flags = 6,       // uint8[n_ids], TokenFlag
    token_trim = 7,        // uint16[n_ids] leading, then uint16[n_ids] trailing white-space characters of the string
    byte_ids = 8,          // uint32[256]
    merge_products = 9,    // uint32[n_merges]: id made by the merge of that rank
    pair_table = 10,       // uint64[power of two], PairSlot
    byte_pair_ranks = 11,  // uint32[65536]: rank of the pair (byte a, byte b) at a * 256 + b, kNoRank when none
    word_table = 12,       // WordEntry[2 * power of two], two to a bucket
    added_tokens = 13,     // AddedToken[]
    added_trie = 14,       // double array over contents looked for in the text; value = index in added_tokens
    added_trie_normalized = 15,  // the same, looked for in the normalized text
    components = 16,             // JSON text: the tokenizer.json without vocabulary, merges and added tokens
    raw_tokens = 17,             // uint32[]: ids of tokens with TokenFlag::raw, sorted by their bytes
    certificate = 18,            // JSON text, optional
    pair_filter = 19,            // uint64[power of two]: bit pair_hash(key) is set for every pair in pair_table
    scores = 20,                 // double[tokens of the model + 1], of a Unigram model; the least one last
    char_pairs = 21,             // of a BPE model on text: pairs of neighbouring characters that merging can join
    reachable_pilots = 22,       // uint16[power of two], of BPE: see reachable_slot(); or empty
    reachable_slots = 23,        // uint64[power of two], PairSlot: the merges that happen; or empty
    byte_cuts = 24,    // of byte-level tables with merges: what merging can join across the borders of characters
    score_ulps = 25,   // int8[tokens of the model], of a Unigram model, optional: see moved_by()
    reads_alike = 26,  // one byte, 1 or 3; optional: see Cartridge::reads_alike
};
const char* section_name(uint32_t type);

struct SectionEntry {
    uint32_t type;
    uint32_t flags;  // bit 0: a reader that does not know this type must refuse the file
    uint64_t offset;
    uint64_t size;
    uint64_t checksum;  // XXH64, seed 0
};
static_assert(sizeof(SectionEntry) == 32, "a section entry is 32 bytes");
constexpr uint32_t kSectionRequired = 1;

struct Program {
    uint32_t flavor;      // Flavor
    uint32_t flags;       // ProgramFlag
    uint32_t n_ids;       // largest id + 1
    uint32_t model_size;  // tokens of the model, without added ones
    uint32_t vocab_size;  // with added ones
    uint32_t n_merges;
    uint32_t max_token_bytes;
    uint32_t reserved[9];
};
static_assert(sizeof(Program) == 64, "the program is 64 bytes");

enum ProgramFlag : uint32_t {
    kIgnoreMerges = 1,  // of byte-level tables
    kTextTokens = 2,    // the model works on text: token_bytes are the tokens' strings; else they are what these spell
    kLongestMatch = 4,  // of byte-level tables: a pretoken is cut into longest matches, and there are no merges
};

struct AddedToken {
    uint32_t id;
    uint32_t flags;  // AddedFlag
};
// The same outside a cartridge, with its text.
struct AddedTokenSpec {
    uint32_t id;
    uint32_t flags;
    std::string content;
};
enum AddedFlag : uint32_t {
    kSingleWord = 1,
    kLstrip = 2,
    kRstrip = 4,
    kNormalized = 8,
    kSpecialToken = 16,
    // Spelled as the normalizer leaves it, though no longer looked for in normalized text. Only an engine's own has it.
    kRespelled = 32,
};

// Collects sections and lays them out. The result is a function of its inputs alone.
class CartridgeWriter {
  public:
    void add(Section type, std::string bytes, uint32_t flags = kSectionRequired);
    template <typename T>
    void add_array(Section type, const std::vector<T>& values, uint32_t flags = kSectionRequired) {
        add(type, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)), flags);
    }
    void add_trie(Section type, const DoubleArray& trie);
    std::string finish(const std::array<uint8_t, 32>& source_digest) const;

  private:
    struct Part {
        Section type;
        uint32_t flags;
        std::string bytes;
    };
    std::vector<Part> parts_;
};

// Which file it is, and when it last changed, as fstat has it: another file, or a later state, has another identity.
struct FileIdentity {
    uint64_t size = 0;
    int64_t modified_ns = 0;
    int64_t changed_ns = 0;
    uint64_t inode = 0;
    uint64_t device = 0;

    bool operator==(const FileIdentity& o) const {
        return size == o.size && modified_ns == o.modified_ns && changed_ns == o.changed_ns && inode == o.inode &&
               device == o.device;
    }
};

// A read-only map of a file, or a copy in memory. Position-independent: nothing in it is relocated. A map shows what is
// done to its file: one that is cut or written over in place gives SIGBUS, or other bytes, as any mapped file does. One
// that is replaced by rename, or removed, stays as it was.
class Storage {
  public:
    virtual ~Storage() = default;
    virtual Bytes bytes() const = 0;
    // Of the file that was opened, whatever has its name since; nothing where it is not mapped.
    virtual std::optional<FileIdentity> identity() const { return std::nullopt; }
};
// Maps the file, or reads it into memory where CRAYON_MAP is `copy`: of a copy nothing is known that was found out of
// its file before. Raises std::system_error when the file cannot be opened, mapped or read, Error(cartridge) when it is
// no regular file or larger than any cartridge, Error(argument) when CRAYON_MAP is something else.
std::shared_ptr<const Storage> open_file(const std::string& path);
std::shared_ptr<const Storage> own_bytes(Bytes bytes);

// The sections of a cartridge, used in place. Opening costs constant time: header, table and sizes are checked, the
// contents are not (verify_cartridge does that).
class Cartridge {
  public:
    explicit Cartridge(std::shared_ptr<const Storage> storage);

    const Header& header() const { return own_->header; }
    const Program& program() const { return *program_; }
    Bytes file() const { return storage_->bytes(); }
    Bytes section(Section type) const { return sections_[size_t(type)]; }
    Array<SectionEntry> table() const { return {own_->table.data(), own_->table.size()}; }

    DoubleArrayView trie, added_trie, added_trie_normalized;
    Array<uint32_t> token_offsets, byte_ids, merge_products, byte_pair_ranks, raw_tokens;
    Array<uint8_t> token_flags;
    Array<uint16_t> token_trim;
    Array<uint64_t> pair_table, pair_filter, byte_cuts;
    Array<WordEntry> word_table;
    Array<uint16_t> reachable_pilots;
    Array<uint64_t> reachable_slots;
    Array<AddedToken> added_tokens;
    Array<double> scores;
    Array<int8_t> score_ulps;
    Bytes token_bytes, metadata, components;

    bool has_text_tokens() const { return program_->flags & kTextTokens; }
    // Byte-level tables that merge.
    bool has_merges() const { return !(program_->flags & (kTextTokens | kLongestMatch)); }
    Bytes bytes_of(uint32_t id) const { return token_bytes.slice(token_offsets[id], token_offsets[id + 1]); }
    // Whether Python reads of the tokenizer.json just what is here: the vocabulary by id, each merge and added token
    // once, with its id. A class of transformers that builds its model of that can be given it from here.
    bool reads_alike() const { return !section(Section::reads_alike).empty(); }
    // Whether that file names the type of its model.
    bool has_model_type() const { return reads_alike() && section(Section::reads_alike)[0] == 1; }
    // A copy whose scores are the doubles nearest to the numbers in the tokenizer.json, as Python reads them, or, if
    // not `nearest`, those that the reference reads. Error(unsupported) for the former without a section score_ulps.
    Cartridge with_nearest_scores(bool nearest) const;

  private:
    template <typename T>
    Array<T> array(Section type, size_t count) const;
    template <typename T>
    Array<T> array(Section type) const;
    DoubleArrayView trie_view(Section type) const;

    std::shared_ptr<const Storage> storage_;
    struct Own {
        Header header;
        Program program;
        std::vector<SectionEntry> table;
        std::string metadata, components;
    };
    std::shared_ptr<const Own> own_;
    const Program* program_ = nullptr;  // of own_
    std::shared_ptr<const std::vector<double>> own_scores_;
    std::array<Bytes, kSectionTypes> sections_{};
};

// Moves a score by `ulps` doubles away from zero.
double moved_by(double score, int8_t ulps);

// make(), which reads the cartridge of the file `path`: what it finds wrong is Error(cartridge), and names the file.
template <typename Make>
auto named(const std::string& path, Make&& make) -> decltype(make()) {
    try {
        return make();
    } catch (const Error& error) {
        // A cartridge with components that are not native here is damaged, or from another version.
        if (error.kind() == ErrorKind::argument) throw;
        throw Error(ErrorKind::cartridge, path + ": " + error.what());
    }
}

// The cartridge of a file. Error(cartridge), which names it; else as open_file.
Cartridge open_cartridge(const std::string& path);

// How much of a cartridge is checked before it is used.
enum class Checks {
    header,  // what opening checks in any case
    memory,  // every checksum, index and search: no use of it can read outside it or loop without end
    whole,   // also that each table which follows from others is what they make
};

// Reads the cartridge whole, unless `checks` is `header`. Error(cartridge) names the first fault.
void verify_cartridge(const Cartridge& cartridge, Checks checks = Checks::whole);

}  // namespace crayon
