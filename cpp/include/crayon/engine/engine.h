// The engine: an immutable view of a cartridge that encodes and decodes. Any number of threads may share one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/models/longest_match.h"
#include "crayon/post/encoding.h"
#include "crayon/post/surround.h"
#include "crayon/post/truncate_pad.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/simd/kernels.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"

namespace crayon {

struct EncodeOptions {
    bool add_special_tokens = true;
    bool special_as_text = false;          // treats special added tokens in the text as plain text
    bool offsets = true;                   // false: all offsets of an Encoding are (0, 0)
    bool overflow = true;                  // false: may stop at truncation, and leave Encoding::overflowing incomplete
    std::optional<Truncation> truncation;  // calls that return ids alone ignore this and padding
    std::optional<Padding> padding;
};

// Whether a part of a text has the text's start, and its end. Parts are cut at seams (seams.h).
struct TextEnds {
    bool start = true, end = true;
};

// Engine::encode_offsets gives this start and end to special tokens.
constexpr uint32_t kNowhere = 0xFFFFFFFFu;

// One input sequence: a text, or words that were split before (`is_pretokenized`).
struct Sequence {
    std::vector<Bytes> parts;
    bool is_pretokenized = false;
};

// A borrowed array of ids of any of three types.
struct IdView {
    enum class Kind { int64, int32, uint32 };

    const void* data = nullptr;
    size_t size = 0;
    Kind kind = Kind::int64;

    IdView() = default;
    IdView(const void* d, size_t n, Kind k) : data(d), size(n), kind(k) {}
    // Calls work(first, end) with pointers of the ids' own type.
    template <typename Work>
    void with_array(Work&& work) const {
        const auto all = [&](const auto* first) { work(first, first + size); };
        if (kind == Kind::int64) return all(static_cast<const int64_t*>(data));
        if (kind == Kind::int32) return all(static_cast<const int32_t*>(data));
        all(static_cast<const uint32_t*>(data));
    }
    template <typename Visit>
    void for_each(Visit&& visit) const {
        with_array([&](const auto* id, const auto* const end) {
            for (; id < end; ++id) visit(int64_t(*id));
        });
    }
};

// A decoded text. If `is_text` is false, the bytes may be invalid UTF-8; text() replaces invalid bytes by U+FFFD.
struct DecodedText {
    std::string bytes;
    bool is_text = true;    // the bytes are surely UTF-8
    bool is_ascii = false;  // the bytes are surely ASCII

    std::string text() const;
};

class Scratch;
class Seams;
class TextBlock;
class TokenJoiner;
struct MergeTables;

class Engine {
  public:
    // Maps a cartridge and runs `checks`, unless the file is the one that passed them before (`verified`). A file from
    // another machine needs Checks::memory once.
    static std::shared_ptr<const Engine> open(const std::string& path, Checks checks,
                                              const std::optional<FileIdentity>& verified = std::nullopt);
    // Copies and checks a cartridge in memory.
    static std::shared_ptr<const Engine> from_bytes(Bytes cartridge, Checks checks = Checks::whole);
    // Another engine over the same cartridge, with other components (JSON as in the section) and added tokens. Throws
    // Error(unsupported) for components that this library does not implement over this cartridge's tables, and
    // Error(vocabulary) for malformed ones.
    std::shared_ptr<const Engine> with_components(std::string_view components,
                                                  const std::vector<AddedTokenSpec>& added) const;
    // Returns an engine in greedy mode over the same cartridge, components and added tokens: it cuts text into longest
    // matches. It keeps the pre-tokenizer's changes and removals of text, not its cuts. Text matches a special token of
    // the model only as an added token. With `unknown`, one id replaces all ids of the model from a first one on;
    // throws Error(argument) if that id is beyond the cartridge's. with_components() of the result stays in greedy
    // mode.
    std::shared_ptr<const Engine> greedy(std::optional<UnknownIds> unknown = std::nullopt) const;
    ~Engine();

    // Lends a thread working memory for this engine until the lease ends. The memory comes from the engine's pool at
    // first use. A lease never waits for a lock, so it also works in the child of a fork.
    class Lease {
      public:
        // Thread number `worker` of a call gets the memory that it had in the previous call.
        explicit Lease(const Engine& engine, size_t worker = 0);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Scratch& operator*() const;

      private:
        const Engine& engine_;
        const size_t worker_;
        mutable std::unique_ptr<Scratch> scratch_;
    };

    // Appends the ids of a text (valid UTF-8) or of a part of one: special ids surround the whole text.
    void encode_ids(Bytes text, const EncodeOptions& options, Scratch& scratch, IdBuffer* out,
                    TextEnds ends = TextEnds()) const;
    // Appends the ids of `text` without the post-processor's special ids. `continues`: a longer text was cut at a seam,
    // and `text` is its second part.
    void encode_inner_ids(Bytes text, bool special_as_text, Scratch& scratch, IdBuffer* out,
                          bool continues = false) const;
    // Appends the ids of encode_ids and their offsets in characters of `text`, as `encode` gives them with these
    // options. On entry, `has_tokens` says whether earlier parts of the text had tokens; on return, whether they or
    // this part have.
    void encode_offsets(Bytes text, const EncodeOptions& options, TextEnds ends, Scratch& scratch, bool* has_tokens,
                        IdBuffer* out, std::vector<Offset>* offsets) const;
    // Appends the ids of arbitrary bytes, without added tokens, normalizer and post-processor. Lossless.
    void encode_raw(Bytes data, Scratch& scratch, IdBuffer* out) const;
    // Appends the ids of one pretoken by merging alone, with the chosen algorithm. All algorithms must agree. For tests
    // and inspection.
    enum class MergeWay { usual, together, heap };
    void merge_pretoken(Bytes pretoken, MergeWay way, Scratch& scratch, IdBuffer* out) const;
    // Where a pretoken is cut before merging. For tests and inspection.
    std::vector<size_t> cuts(Bytes pretoken) const;
    // The full Encoding. `pair` may be null. Encodes only a part of a single text if its end cannot change the result
    // (EncodeOptions::overflow).
    Encoding encode(const Sequence& first, const Sequence* pair, const EncodeOptions& options, Scratch& scratch) const;
    // The size of the part of a text that `encode` reads first, or 0 if it reads the whole input.
    size_t first_part(const Sequence& first, const Sequence* pair, const EncodeOptions& options) const;
    // The Encoding of a text, or of a part of one, without special ids. A part ends at a seam that holds with offsets;
    // one that `continues` begins at such a seam. Offsets count from the part's first character, words from its first
    // word.
    EncodingPart encode_part(Bytes text, const EncodeOptions& options, bool continues, Scratch& scratch) const;
    // Applies the steps after the model: truncation, post-processor, padding. `pair` may be null.
    Encoding post_process(Encoding&& first, Encoding* pair, const EncodeOptions& options) const;

    // Appends the bytes of the ids, which need not be whole characters. Skips unknown ids if `skip_unknown`, else
    // Error(token_id) names the first. Throws Error(unsupported) if the decoder does more than join bytes.
    void decode_bytes(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const;
    // Decodes ids to text with the decoder.
    void decode(const IdView& ids, bool skip_special_tokens, bool skip_unknown, DecodedText* out) const;
    // Decodes ids by the decoder's slow path over strings, and appends the text. For tests. The engine's decoder must
    // not be one that only joins bytes.
    void decode_strings(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const;

    // Whether one text can encode to different ids (dropout).
    bool is_random() const;
    bool is_greedy() const { return greedy_.has_value(); }
    // Returns the longest token of the model that starts at `start` of `data` as {id, bytes}, or {-1, 0}. In greedy
    // mode only tokens that text can become match, and UnknownIds replaces ids.
    std::pair<int64_t, size_t> longest_match(Bytes data, size_t start) const;

    int64_t token_to_id(std::string_view token) const;  // -1 if unknown
    bool has_id(int64_t id) const;
    std::string id_to_token(uint32_t id) const;  // `id` must be known
    std::string id_to_bytes(uint32_t id) const;
    std::vector<std::pair<std::string, uint32_t>> vocabulary(bool with_added) const;
    uint32_t vocabulary_size(bool with_added) const;
    // Returns the model's vocabulary as json::model_text writes it, or nothing if tokens are bytes.
    std::optional<std::string> vocabulary_json(bool pretty) const;
    std::vector<AddedTokenSpec> added_tokens() const;  // in order of addition
    size_t special_tokens_added(bool is_pair) const;
    // The most tokens that truncation leaves, special tokens not counted. If the special tokens alone exceed its limit,
    // no limit applies: the subtraction in Hugging Face tokenizers wraps around.
    size_t tokens_left(bool is_pair, const EncodeOptions& options) const;
    // Returns the special ids that the post-processor puts around a sequence or a pair, or null if it changes ids in
    // another way.
    const Surround* surround(bool is_pair, bool add_special_tokens) const;
    // Where texts can be cut if only ids are needed. Built at first use.
    const Seams& seams(bool special_as_text) const;

    // JSON: the tokenizer.json without vocabulary, merges and added tokens.
    std::string_view components() const { return components_; }
    // Returns the family of the specialized scanner, or nothing if the pre-tokenizer's own steps run.
    std::optional<Family> family() const;
    const Cartridge& cartridge() const { return cartridge_; }
    const Kernels& kernels() const;  // chosen when the engine was opened

    struct Impl;
    const Impl& impl() const { return *impl_; }

  private:
    using Greedy = std::optional<UnknownIds>;  // empty: exact mode
    Engine(const Cartridge& cartridge, Greedy greedy);
    Engine(const Cartridge& cartridge, std::string_view components, const std::vector<AddedTokenSpec>& added,
           Greedy greedy);
    void prepare(std::vector<uint32_t> specials);
    void finish();
    void join(const IdView& ids, bool skip_special_tokens, bool skip_unknown, TokenJoiner* joiner,
              TextBlock* out) const;
    // Returns whether all bytes are ASCII.
    bool join_bytes(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const;

    Cartridge cartridge_;
    std::string own_components_;  // replaces the section's
    std::string_view components_;
    Greedy greedy_;
    std::unique_ptr<Impl> impl_;  // derived from the cartridge, in time independent of the tables' size
};

}  // namespace crayon
