// The engine: an immutable view of a cartridge that encodes and decodes. Any number of threads may use one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/bytes.h"
#include "crayon/cartridge.h"
#include "crayon/encoding.h"
#include "crayon/id_buffer.h"
#include "crayon/post_process.h"

namespace crayon {

struct EncodeOptions {
    bool add_special_tokens = true;
    bool special_as_text = false;  // special added tokens in the text are plain text
    bool offsets = true;           // false: an Encoding's offsets are all (0, 0)
};

// One input sequence: a text, or words that were split before (`is_pretokenized`).
struct Sequence {
    std::vector<Bytes> parts;
    bool is_pretokenized = false;
};

class Scratch;

class Engine {
  public:
    // Maps a cartridge. `verify` reads it whole first; do so once for any file that this machine did not write.
    static std::shared_ptr<const Engine> open(const std::string& path, bool verify);
    // A cartridge in memory, copied and verified.
    static std::shared_ptr<const Engine> from_bytes(Bytes cartridge);
    ~Engine();

    // A thread's working memory for this engine, from the engine's pool while the lease lives. Never waits: when the
    // pool is busy (or was, in the parent of a fork) it makes a new one.
    class Lease {
      public:
        explicit Lease(const Engine& engine);
        ~Lease();
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Scratch& operator*() const { return *scratch_; }

      private:
        const Engine& engine_;
        std::unique_ptr<Scratch> scratch_;
    };

    // Appends the ids of `text` (valid UTF-8) to `out`.
    void encode_ids(Bytes text, const EncodeOptions& options, Scratch& scratch, IdBuffer* out) const;
    // Appends the ids of any bytes: no added tokens, no normalizer, no post-processor. Lossless.
    void encode_raw(Bytes data, Scratch& scratch, IdBuffer* out) const;
    // Appends what merging alone makes of one pretoken, by one of the ways that must agree. For tests and inspection.
    enum class MergeWay { usual, short_arrays, sweeps, heap };
    void merge_pretoken(Bytes pretoken, MergeWay way, Scratch& scratch, IdBuffer* out) const;
    // The whole record; `pair` may be null.
    Encoding encode(const Sequence& first, const Sequence* pair, const EncodeOptions& options, Scratch& scratch) const;

    // Appends the bytes of the ids. Error(token_id) names the first id that the vocabulary does not have.
    void decode(Array<int64_t> ids, bool skip_special_tokens, std::string* out) const;

    int64_t token_to_id(std::string_view token) const;  // -1 when there is none
    bool has_id(int64_t id) const;
    std::string id_to_token(uint32_t id) const;  // of an id that it has
    Bytes id_to_bytes(uint32_t id) const { return cartridge_.bytes_of(id); }
    std::vector<std::pair<std::string, uint32_t>> vocabulary(bool with_added) const;
    size_t special_tokens_added(bool is_pair) const;

    const Cartridge& cartridge() const { return cartridge_; }
    const char* cpu_level() const;

    struct Parts;  // of the implementation

  private:
    explicit Engine(std::shared_ptr<const Storage> storage, bool verify);

    Cartridge cartridge_;
    std::unique_ptr<Parts> parts_;  // what is derived from the cartridge in constant time
};

}  // namespace crayon
