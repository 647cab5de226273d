// The text that each token adds, in 16 bytes per token. A lookup takes one cache line instead of the cartridge's flags,
// offsets and bytes in three places, and runs no decoder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crayon/decoders/decoders.h"
#include "crayon/support/bytes.h"
#include "pipeline/vocabulary.h"

namespace crayon {

class DecodeTable {
  public:
    enum : uint8_t { kMost = 15, kLong, kByte, kOther };

    struct alignas(16) Entry {
        uint8_t bytes[kMost];
        uint8_t size;  // or kLong: the text is in `long_text`; kByte: the token names the byte bytes[0]; kOther: ask
                       // the vocabulary
    };

    // `decoder` is null if decoding only joins bytes. The first token of a text may add another text than its entry's.
    DecodeTable(const Cartridge& cartridge, const Vocabulary& vocabulary, const Decoder* decoder);

    size_t size() const { return entries_.size(); }
    const Entry& operator[](size_t id) const { return entries_[id]; }
    // Whether the id's text is in its entry.
    template <typename Id>
    bool is_short(Id id) const {
        return uint64_t(id) < entries_.size() && entries_[size_t(id)].size <= kMost;
    }
    Bytes long_text(const Entry& entry) const;

  private:
    Entry entry_of(Bytes text);

    std::vector<Entry> entries_;
    std::string long_;
};

// Builds the table when the decoded ids outnumber the vocabulary, because building takes about as long as decoding
// these ids did.
class LazyDecodeTable {
  public:
    ~LazyDecodeTable() { delete table_.load(); }
    // Returns null until the table is built. `ids` is the number of ids to decode now; make() is called once.
    template <typename Make>
    const DecodeTable* get(size_t ids, size_t n_ids, Make&& make) {
        const DecodeTable* table = table_.load(std::memory_order_acquire);
        if (table != nullptr) return table;
        if (decoded_.fetch_add(ids, std::memory_order_relaxed) + ids < n_ids) return nullptr;
        if (is_begun_.exchange(true)) return nullptr;
        table = make().release();
        table_.store(table, std::memory_order_release);
        return table;
    }

  private:
    std::atomic<const DecodeTable*> table_{nullptr};
    std::atomic<size_t> decoded_{0};
    std::atomic<bool> is_begun_{false};
};

}  // namespace crayon
