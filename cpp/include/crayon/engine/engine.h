// The engine: an immutable view of a cartridge that encodes and decodes. Any number of threads may use one at a time.
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
#include "crayon/post/frames.h"
#include "crayon/post/truncate_pad.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"

namespace crayon {

struct EncodeOptions {
    bool add_special_tokens = true;
    bool special_as_text = false;          // special added tokens in the text are plain text
    bool offsets = true;                   // false: an Encoding's offsets are all (0, 0)
    std::optional<Truncation> truncation;  // of Encodings; paths that give ids alone leave these two out
    std::optional<Padding> padding;
};

// One input sequence: a text, or words that were split before (`is_pretokenized`).
struct Sequence {
    std::vector<Bytes> parts;
    bool is_pretokenized = false;
};

// Ids as their holder has them.
struct IdView {
    enum class Kind { int64, int32, uint32 };

    const void* data = nullptr;
    size_t size = 0;
    Kind kind = Kind::int64;

    IdView() = default;
    IdView(const void* d, size_t n, Kind k) : data(d), size(n), kind(k) {}
    // Calls work(first, end) with pointers to the ids as they are.
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

// What decoding gives. Bytes that are no text are one with U+FFFD for what is not UTF-8.
struct DecodedText {
    std::string bytes;
    bool is_text = true;    // the bytes are UTF-8 for sure
    bool is_ascii = false;  // and nothing but ASCII

    std::string text() const;
};

class Scratch;
class Seams;
class TextBlock;
class TokenJoiner;
struct MergeTables;

class Engine {
  public:
    // Maps a cartridge after these checks, which the file `verified` passed before. A file that this machine did not
    // write needs those of memory once.
    static std::shared_ptr<const Engine> open(const std::string& path, Checks checks,
                                              const std::optional<FileIdentity>& verified = std::nullopt);
    // A cartridge in memory, copied and checked.
    static std::shared_ptr<const Engine> from_bytes(Bytes cartridge, Checks checks = Checks::whole);
    // Another engine over the same cartridge, with other components (JSON like the section's) and other added tokens.
    // Error(unsupported) for what is not native over this cartridge's tables, Error(vocabulary) for what is malformed.
    std::shared_ptr<const Engine> with_components(std::string_view components,
                                                  const std::vector<AddedTokenSpec>& added) const;
    // Greedy mode: another engine over the same cartridge, with the same components and added tokens, that cuts text
    // into longest matches. Its pre-tokenizer counts only for what it changes or removes. Special tokens of the model
    // are no match: they come from added tokens alone. `unknown` is for the model's ids; Error(argument) if its id
    // is beyond those of the cartridge. with_components() stays in greedy mode.
    std::shared_ptr<const Engine> greedy(std::optional<UnknownIds> unknown = std::nullopt) const;
    ~Engine();

    // A thread's working memory for this engine, taken from the engine's pool when it is first asked for, until the
    // lease ends. Never waits, and finds what there is: in the child of a fork, too.
    class Lease {
      public:
        // The threads of a call are numbered, and each finds the memory that it had in the call before.
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

    // Appends the ids of `text` (valid UTF-8) to `out`.
    void encode_ids(Bytes text, const EncodeOptions& options, Scratch& scratch, IdBuffer* out) const;
    // The same without the post-processor's special ids. A text that `continues` is the rest of one that was cut at a
    // seam (seams.h).
    void encode_inner_ids(Bytes text, bool special_as_text, Scratch& scratch, IdBuffer* out,
                          bool continues = false) const;
    // The same with offsets, in characters of `text`, as `encode` with these options gives them; `has_tokens` says
    // whether what is before a text that continues had any. Only when there is a single_frame().
    void encode_inner_offsets(Bytes text, const EncodeOptions& options, bool continues, bool has_tokens,
                              Scratch& scratch, IdBuffer* out, std::vector<Offset>* offsets) const;
    // Appends the ids of any bytes: no added tokens, no normalizer, no post-processor. Lossless.
    void encode_raw(Bytes data, Scratch& scratch, IdBuffer* out) const;
    // Appends what merging alone makes of one pretoken, by one of the ways that must agree. For tests and inspection.
    enum class MergeWay { usual, short_arrays, together, sweeps, heap };
    void merge_pretoken(Bytes pretoken, MergeWay way, Scratch& scratch, IdBuffer* out) const;
    // Where a pretoken is cut before it is merged. For tests and inspection.
    std::vector<size_t> cuts(Bytes pretoken) const;
    // The whole record; `pair` may be null.
    Encoding encode(const Sequence& first, const Sequence* pair, const EncodeOptions& options, Scratch& scratch) const;
    // The encoding of a text, or of a part of one, without special ids. A part ends at a seam that holds with offsets,
    // and begins at one if it `continues`. Offsets count from the part's first character, words from its first word;
    // `words` gets their number.
    Encoding encode_part(Bytes text, const EncodeOptions& options, bool continues, Scratch& scratch,
                         int32_t* words) const;
    // What happens to encodings after the model: truncation, the post-processor, padding. `pair` may be null.
    Encoding post_process(Encoding&& first, Encoding* pair, const EncodeOptions& options) const;

    // Appends the bytes of the ids, which need not be whole characters. An id that the vocabulary does not have is left
    // out if `skip_unknown`, else Error(token_id) names it. Error(unsupported) where decoding is not joining bytes.
    void decode_bytes(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const;
    // The text of the ids, as the decoder makes it of their strings.
    void decode(const IdView& ids, bool skip_special_tokens, bool skip_unknown, DecodedText* out) const;
    // The same by the decoder's general way, of strings; appended. For tests, and not where bytes are joined.
    void decode_strings(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const;

    // Whether a text need not become the same ids every time: dropout.
    bool is_random() const;
    bool is_greedy() const { return greedy_.has_value(); }
    // The longest token of the model that `data` goes on with at `start`: {id, bytes}, or {-1, 0}. In greedy mode of
    // those that text becomes, as `unknown` gives them.
    std::pair<int64_t, size_t> longest_match(Bytes data, size_t start) const;

    int64_t token_to_id(std::string_view token) const;  // -1 when there is none
    bool has_id(int64_t id) const;
    std::string id_to_token(uint32_t id) const;  // of an id that it has
    std::string id_to_bytes(uint32_t id) const;
    std::vector<std::pair<std::string, uint32_t>> vocabulary(bool with_added) const;
    uint32_t vocabulary_size(bool with_added) const;
    // The model's vocabulary as json::model_text writes it; nothing where tokens are bytes.
    std::optional<std::string> vocabulary_json(bool pretty) const;
    std::vector<AddedTokenSpec> added_tokens() const;  // in order of addition
    size_t special_tokens_added(bool is_pair) const;
    // The special ids that stand around a single sequence, and around a pair; null when these do not say all that the
    // post-processor does to ids.
    const SingleFrame* single_frame() const;
    const PairFrame* pair_frame() const;
    // Where texts can be cut for ids alone; made when it is first asked for.
    const Seams& seams(bool special_as_text) const;

    // JSON: the tokenizer.json without vocabulary, merges and added tokens.
    std::string_view components() const { return components_; }
    // The hand-made scanner's family; none when the pre-tokenizer is run as it is written.
    std::optional<Family> family() const;
    const Cartridge& cartridge() const { return cartridge_; }
    const char* cpu_level() const;

    struct Impl;
    const Impl& impl() const { return *impl_; }

  private:
    using Greedy = std::optional<UnknownIds>;  // nothing: exact mode
    Engine(const Cartridge& cartridge, Greedy greedy);
    Engine(const Cartridge& cartridge, std::string_view components, const std::vector<AddedTokenSpec>& added,
           Greedy greedy);
    void prepare(std::vector<uint32_t> specials);
    void finish();
    void join(const IdView& ids, bool skip_special_tokens, bool skip_unknown, TokenJoiner* joiner,
              TextBlock* out) const;
    // Whether they are all ASCII.
    bool join_bytes(const IdView& ids, bool skip_special_tokens, bool skip_unknown, std::string* out) const;

    Cartridge cartridge_;
    std::string own_components_;  // in place of the section's
    std::string_view components_;
    Greedy greedy_;
    std::unique_ptr<Impl> impl_;  // what is derived from the cartridge, in time that does not grow with its tables
};

}  // namespace crayon
