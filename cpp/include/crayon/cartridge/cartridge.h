// A cartridge is a binary file with the tables of one tokenizer. Version 3: its layout, writer and memory-mapped
// reader. docs/cartridge-format.md is the specification; only this header and cartridge_tables.h repeat it. Integers
// are little-endian. Every section starts at a multiple of 64 bytes.
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
constexpr uint32_t kRevision = 4;  // Grows when sections change meaning. A reader refuses all others.
constexpr size_t kSectionAlignment = 64;
constexpr uint32_t kMaxSections = 256;
constexpr uint64_t kMaxFile = uint64_t(1) << 32;    // in bytes; real files have tens of millions
constexpr size_t kMaxMetadata = size_t(1) << 20;    // in bytes; real ones have tens
constexpr size_t kMaxComponents = size_t(1) << 24;  // In bytes; parsing takes about fifty times the size.
constexpr uint32_t kSectionTypes = 27;              // one more than the largest Section

struct Header {
    char magic[4];
    uint32_t version;
    uint64_t file_size;
    uint32_t section_count;
    uint32_t revision;
    uint64_t checksum;          // XXH64 of the header (with 0 in this field) and the section table
    uint8_t source_digest[32];  // SHA-256 of the tokenizer.json
};
static_assert(sizeof(Header) == 64, "the header is 64 bytes");

enum class Section : uint32_t {
    metadata = 1,       // JSON text
    program = 2,        // Program
    trie = 3,           // double array over the bytes of the model's tokens; value = id
    token_offsets = 4,  // uint32[n_ids + 1] into token_bytes
    token_bytes = 5,
    token_flags = 6,  // flags by id: uint8[n_ids] of TokenFlag
    token_trim = 7,   // white-space characters around each string: uint16[n_ids] leading, then uint16[n_ids] trailing
    byte_ids = 8,     // ids of single bytes: uint32[256]
    merge_products = 9,          // id made by the merge of each rank: uint32[n_merges]
    pair_table = 10,             // hash table of merges: uint64[power of two] of PairSlot
    byte_pair_ranks = 11,        // rank of the pair (byte a, byte b) at a * 256 + b, or kNoRank: uint32[65536]
    word_table = 12,             // hash table of pretokens: WordEntry[2 * power of two], two to a bucket
    added_tokens = 13,           // AddedToken[]
    added_trie = 14,             // double array over contents to find in the text: value = index in added_tokens
    added_trie_normalized = 15,  // the same for the normalized text
    components = 16,             // JSON text: the tokenizer.json without vocabulary, merges and added tokens
    raw_tokens = 17,             // ids of tokens with the flag raw, sorted by their bytes: uint32[]
    certificate = 18,            // JSON text, optional
    pair_filter = 19,            // bits at the hashes of the pairs in pair_table: uint64[power of two]
    scores = 20,                 // of a Unigram model: double[tokens of the model + 1], the least score last
    char_pairs = 21,             // of BPE on text: pairs of neighbouring characters that merging can join
    reachable_pilots = 22,       // of BPE, may be empty: uint16[power of two], see reachable_slot()
    reachable_slots = 23,        // merges that can happen, may be empty: uint64[power of two] of PairSlot
    byte_cuts = 24,              // of byte-level tables with merges: the pairs of characters that merging can join
    score_ulps = 25,             // of a Unigram model, optional: int8[tokens of the model], see moved_by()
    reads_alike = 26,            // optional: one byte, 1 or 3, see Cartridge::reads_alike
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
    uint32_t model_size;  // tokens of the model, without added tokens
    uint32_t vocab_size;  // with added tokens
    uint32_t n_merges;
    uint32_t max_token_bytes;
    uint32_t reserved[9];
};
static_assert(sizeof(Program) == 64, "the program is 64 bytes");

enum ProgramFlag : uint32_t {
    kIgnoreMerges = 1,  // byte-level tables: look a pretoken up as a token before merging it
    kTextTokens = 2,  // The model works on text, and token_bytes are the tokens' strings. Otherwise token_bytes are the
                      // bytes that those strings spell.
    kLongestMatch = 4,  // byte-level tables: cut a pretoken into longest matches; the vocabulary has no merges
};

struct AddedToken {
    uint32_t id;
    uint32_t flags;  // AddedFlag
};
// An added token outside a cartridge, with its text.
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
    // The token's text is its normalized content, but it is found in raw text only. Only an engine's own added tokens
    // have this flag, never those in a cartridge.
    kRespelled = 32,
};

// Collects sections and lays them out. Equal input gives equal bytes.
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
    struct SectionBytes {
        Section type;
        uint32_t flags;
        std::string bytes;
    };
    std::vector<SectionBytes> parts_;
};

// Identifies a file and its last change, by fstat. Another file, or a changed one, has another identity.
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

// A read-only map of a file, or a copy in memory. Position-independent: nothing is relocated. A map shows changes to
// its file: after truncation reads raise SIGBUS, and after writes in place they give the new bytes. A file that is
// replaced by rename, or removed, keeps its old content here.
class Storage {
  public:
    virtual ~Storage() = default;
    virtual Bytes bytes() const = 0;
    // Returns the identity of the opened file, even if another file now has its name. Returns nothing if the bytes are
    // not mapped.
    virtual std::optional<FileIdentity> identity() const { return std::nullopt; }
};
// Maps the file, or reads it into memory if CRAYON_MAP is `copy`. A copy has no identity, so earlier checks of the file
// do not count for it. Raises std::system_error if the file cannot be opened, mapped or read. Throws Error(cartridge)
// if `path` is not a regular file or is larger than any cartridge, and Error(argument) for another value of CRAYON_MAP.
std::shared_ptr<const Storage> open_file(const std::string& path);
std::shared_ptr<const Storage> own_bytes(Bytes bytes);

// The sections of a cartridge, used in place. Opening takes constant time: it checks header, table and sizes.
// verify_cartridge checks the contents.
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
    // Whether the tables are byte-level and have merges.
    bool has_merges() const { return !(program_->flags & (kTextTokens | kLongestMatch)); }
    Bytes bytes_of(uint32_t id) const { return token_bytes.slice(token_offsets[id], token_offsets[id + 1]); }
    // Whether the tables hold exactly the vocabulary, merges and added tokens that Python reads from the
    // tokenizer.json, each once. A tokenizer class of transformers can then be built from the cartridge.
    bool reads_alike() const { return !section(Section::reads_alike).empty(); }
    // Whether the tokenizer.json names its model's type.
    bool has_model_type() const { return reads_alike() && section(Section::reads_alike)[0] == 1; }
    // Returns a copy with other scores. With `nearest`, the scores are the doubles nearest to the numbers in the
    // tokenizer.json, as Python reads them; without a section score_ulps, throws Error(unsupported). Otherwise the
    // scores are the doubles that Hugging Face tokenizers reads.
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
    const Program* program_ = nullptr;  // points into the bytes that own_ holds
    std::shared_ptr<const std::vector<double>> own_scores_;
    std::array<Bytes, kSectionTypes> sections_{};
};

// Moves a score by `ulps` doubles away from zero.
double moved_by(double score, int8_t ulps);

// Calls make(), which reads the cartridge of file `path`, and reports its faults as Error(cartridge) with the file's
// name.
template <typename Make>
auto named(const std::string& path, Make&& make) -> decltype(make()) {
    try {
        return make();
    } catch (const Error& error) {
        // Error(unsupported) becomes Error(cartridge), too: the file is damaged, or another version wrote its
        // components.
        if (error.kind() == ErrorKind::argument) throw;
        throw Error(ErrorKind::cartridge, path + ": " + error.what());
    }
}

// Opens a cartridge file. Throws Error(cartridge), which names the file, and the errors of open_file.
Cartridge open_cartridge(const std::string& path);

// How much of a cartridge to check when it is opened.
enum class Checks {
    header,  // only the checks that every opening makes
    memory,  // Every checksum, index and search chain. No later use can read outside the file or loop without end.
    whole,   // `memory`, and compares each derived table with its sources.
};

// Reads the whole cartridge, unless `checks` is `header`. Error(cartridge) names the first fault.
void verify_cartridge(const Cartridge& cartridge, Checks checks = Checks::whole);

}  // namespace crayon
