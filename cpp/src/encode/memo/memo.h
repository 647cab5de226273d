// A cache that all threads of an engine share: words of up to kLongest bytes and their ids. A thread looks here for
// words that its own WordCache lacks, and adds the words that it merged. So the engine merges a word once.
//
// Threads publish entries without locks, since a child of fork() would wait forever for a lock that another thread of
// its parent held. A published entry never changes. When a generation is full, the memo begins a new one. Readers
// search both, and move found words to the new one until it is full, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "crayon/support/bytes.h"
#include "encode/memo/word_table.h"

namespace crayon {

class MemoGeneration;
struct MemoTable;

// Kinds of entries, in place of the number of ids.
constexpr uint32_t kRecorded = 15;  // more than kWordIds ids, or a longer word: see record_of().
constexpr uint32_t kUncached = 14;  // re-encoded when its ids are written.
constexpr uint32_t kTask = 13;      // ids[0] is the index of the MergeTask that makes the ids; only while a block is
                                    // encoded

inline WordEntry entry_of_kind(WordKey key, uint32_t kind, uint64_t value = 0) {
    return {{key.lo, key.hi | uint64_t(kind) << 60}, {uint32_t(value), uint32_t(value >> 32), 0, 0}};
}

// The words of one engine. MemoReaders share ownership of the memory, so clear() is safe while they read.
class Memo {
  public:
    static constexpr size_t kLongest = 256;  // bytes of a word

    Memo() = default;
    Memo(const Memo&) = delete;
    ~Memo() { clear(); }

    void clear();
    bool is_read() const;  // whether any MemoReader reads it
    size_t bytes() const;

  private:
    friend class MemoReader;
    std::atomic<MemoGeneration*> newest_{nullptr};
};

// One thread's view of a memo. A reference that it returns is valid until the next refresh() or rest().
class MemoReader {
  public:
    // A record: a word's bytes, none if the key is the word itself, and its ids. The entry has their numbers.
    struct Record {
        const uint32_t* data;
        uint32_t sizes;
        size_t count() const { return sizes >> 16; }
        size_t bytes() const { return sizes & 0xFFFF; }
        const uint32_t* ids() const { return data + (bytes() + 3) / 4; }
        // Writes the ids and up to three more words. Returns the number of ids.
        size_t copy(uint32_t* out) const {
            for (size_t i = 0; i < count(); i += 4) std::memcpy(out + i, ids() + i, 16);
            return count();
        }
    };

    MemoReader() = default;
    explicit MemoReader(Memo* memo) : memo_(memo) {}
    ~MemoReader() { rest(); }
    MemoReader(const MemoReader&) = delete;
    MemoReader& operator=(const MemoReader&) = delete;

    // Switches to generations that other threads began; call it before each block of words. Returns true if entries
    // that this reader returned may name freed records; has_record() tells which.
    bool refresh();
    // Releases all memory until the next refresh().
    void rest();
    bool has_record(const WordEntry& entry) const {
        return entry.ids[2] != 0 && (entry.ids[2] == newer_.number || entry.ids[2] == older_.number);
    }
    // `entry` is of kind kRecorded. Its ids can be read four at a time.
    Record record_of(const WordEntry& entry) const;

    // A word of up to kWordKeyBytes has the key and hash of the cartridge's word table.
    static uint64_t hash_of(WordKey key) { return word_hash(key.lo, key.hi); }
    // A longer word has a key that no short word has. Its record holds the bytes, which find() compares.
    static uint64_t hash_of(Bytes word);
    static WordKey key_of(Bytes word, uint64_t hash) { return {hash, word.size}; }

    bool has_words() const { return newer_.table != nullptr; }
    // Does what WordBlock::look_up does: sets entries[i] to the entry of keys[i], or adds i to `missed`. It sees only
    // the first bucket of a word, so find() may find a missed word. Its entries are valid until the next refresh().
    size_t look_up(size_t n, const WordKey* keys, uint32_t* buckets, const WordEntry** entries, uint32_t* missed) const;
    void prefetch_place(uint64_t hash) const;
    void prefetch_record(WordKey key, uint64_t hash) const;
    // Sets `found` to a word's entry, or returns false. `longer`: the word, if it is longer than kWordKeyBytes.
    bool find(WordKey key, uint64_t hash, Bytes longer, WordEntry* found);
    // Adds a word whose ids fit into an entry. Call this after find() returned false for the word.
    void keep(const WordEntry& entry, uint64_t hash);
    // Adds a word with up to 65,535 ids. Returns an entry that names the record; its kind is kUncached if memory is
    // short.
    WordEntry keep(WordKey key, uint64_t hash, Bytes longer, const uint32_t* ids, size_t count);

  private:
    struct Hold {  // on one generation
        MemoGeneration* generation = nullptr;
        uint32_t number = 0;  // of the generation; 0: none
        MemoTable* table = nullptr;
    };
    bool change();
    void free_smaller_tables();
    bool begin();
    void note(bool has_slot);
    void count_kept();
    static Hold hold(std::atomic<MemoGeneration*>& place);

    Memo* memo_ = nullptr;
    Hold newer_, older_;
    uint32_t tried_ = 0, kept_ = 0, found_ = 0;  // calls of keep(), slots filled, hits: not yet added to the table's
};

}  // namespace crayon
