#include "encode/memo/memo.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "crayon/support/huge_pages.h"
#include "support/memory_limit.h"
#include "support/prefetch.h"
#include "support/zeroed_memory.h"

namespace crayon {
namespace {

constexpr size_t kProbes = 8;                          // Buckets to probe for a word.
constexpr uint64_t kFirstBuckets = uint64_t(1) << 10;  // 64 KiB
constexpr uint64_t kManyBuckets = uint64_t(1) << 16;   // 4 MiB: from here on, tables grow in smaller steps
constexpr size_t kChunkWords = size_t(1) << 19;        // records: 2 MiB
constexpr size_t kMostChunks = 1024;
constexpr size_t kFreely = size_t(64) << 20;  // In bytes; a larger memo grows only if lookups find its words often.
constexpr size_t kLeast = size_t(1) << 20;    // In bytes; a smaller generation is not replaced.
constexpr size_t kMostOfAll = kMostChunks * kChunkWords * sizeof(uint32_t) / 2;  // In bytes: half of the chunks' total.
constexpr uint32_t kTold = 32;    // calls of keep() between two updates of the shared counters
constexpr uint64_t kClaimed = 2;  // key[1] of a slot while a thread writes it; no key has it

// A WordEntry that threads publish to each other. Two slots share a cache line.
struct Slot {
    std::atomic<uint64_t> key[2];
    std::atomic<uint64_t> ids[2];

    WordEntry read(uint64_t last_of_key) const {
        const uint64_t first = ids[0].load(std::memory_order_relaxed), second = ids[1].load(std::memory_order_relaxed);
        return {{key[0].load(std::memory_order_relaxed), last_of_key},
                {uint32_t(first), uint32_t(first >> 32), uint32_t(second), uint32_t(second >> 32)}};
    }
    // 0 if the entry has the key, or else 1. Uses arithmetic, because compilers turn a comparison into a branch.
    uint64_t differs(WordKey from) const {
        const uint64_t last = key[1].load(std::memory_order_acquire);
        const uint64_t bits = (key[0].load(std::memory_order_relaxed) ^ from.lo) | (last ^ from.hi) << 4;
        return (bits | (0 - bits)) >> 63;
    }
    void publish(const WordEntry& entry) {
        key[0].store(entry.key[0], std::memory_order_relaxed);
        ids[0].store(entry.ids[0] | uint64_t(entry.ids[1]) << 32, std::memory_order_relaxed);
        ids[1].store(entry.ids[2] | uint64_t(entry.ids[3]) << 32, std::memory_order_relaxed);
        key[1].store(entry.key[1], std::memory_order_release);
    }
};
static_assert(sizeof(Slot) == sizeof(WordEntry), "a bucket is a cache line");

uint64_t place_of(const WordEntry& entry) {
    return entry.ids[0] | uint64_t(entry.ids[1]) << 32;
}

}  // namespace

struct MemoTable {
    explicit MemoTable(uint64_t buckets)
        : memory(buckets * 2 * sizeof(Slot)), slots(static_cast<Slot*>(memory.data())), mask(buckets - 1) {
        if (slots == nullptr) throw std::bad_alloc();
    }
    uint64_t buckets() const { return mask + 1; }
    Slot* bucket(uint64_t hash, size_t probe = 0) const { return slots + 2 * ((hash + probe) & mask); }

    // Returns the first slot that has the key or is free, and sets `last` to its key[1]. Returns null if other words
    // have all slots.
    Slot* find(WordKey key, uint64_t hash, uint64_t* last) const {
        for (size_t probe = 0; probe < kProbes; ++probe) {
            Slot* const both = bucket(hash, probe);
            for (Slot* slot : {both, both + 1}) {
                *last = slot->key[1].load(std::memory_order_acquire);
                const bool has_key =
                    (*last & kWordKeyMask) == key.hi && slot->key[0].load(std::memory_order_relaxed) == key.lo;
                if (*last == 0 || has_key) return slot;
            }
        }
        return nullptr;
    }
    // Claims a slot for a new word. Returns null if the word has one, or if all its slots are taken.
    Slot* claim(WordKey key, uint64_t hash) {
        uint64_t last;
        Slot* slot;
        do {
            slot = find(key, hash, &last);
            if (slot == nullptr || last != 0) return nullptr;
        } while (!slot->key[1].compare_exchange_strong(last, kClaimed, std::memory_order_acq_rel));
        return slot;
    }

    ZeroedMemory memory;
    Slot* slots;
    uint64_t mask;
    MemoTable* smaller = nullptr;               // the table that this one replaced; other threads may still read it
    uint64_t copied = 0;                        // words from the smaller table
    alignas(64) std::atomic<uint64_t> used{0};  // in another cache line than fields that every lookup reads
    std::atomic<uint64_t> found{0};
};

// The words of one generation: a table and records. Objects are recycled and never freed, so a thread that follows a
// stale pointer reads a valid `holds_`; hold() then notices that the memo points elsewhere.
class MemoGeneration {
  public:
    // Returns a new generation that only the caller holds, or null if memory is short.
    static MemoGeneration* make() {
        MemoGeneration* own = nullptr;
        for (MemoGeneration* each = all_.load(std::memory_order_acquire); each != nullptr && own == nullptr;
             each = each->next_) {
            uint64_t free = kFree;
            if (each->holds_.load(std::memory_order_relaxed) != kFree) continue;
            if (each->holds_.compare_exchange_strong(free, 1, std::memory_order_acq_rel)) own = each;
        }
        if (own == nullptr) {
            own = new (std::nothrow) MemoGeneration();
            if (own == nullptr) return nullptr;
            own->holds_.store(1, std::memory_order_relaxed);
            own->next_ = all_.load(std::memory_order_relaxed);
            while (!all_.compare_exchange_weak(own->next_, own, std::memory_order_release)) {
            }
        }
        do {
            own->number_ = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
        } while (own->number_ == 0);
        try {
            own->start_table(new MemoTable(kFirstBuckets), nullptr);
        } catch (const std::bad_alloc&) {
            release(own);
            return nullptr;
        }
        return own;
    }

    // Adds a hold to the generation that `place` points to, and returns the generation, or null if `place` is null.
    static MemoGeneration* hold(std::atomic<MemoGeneration*>& place) {
        for (;;) {
            MemoGeneration* const it = place.load();
            if (it == nullptr) return nullptr;
            it->holds_.fetch_add(1);
            if (place.load() == it) return it;
            release(it);
        }
    }
    // Removes a hold. The last removal frees the memory.
    static void release(MemoGeneration* it) {
        if (it->holds_.fetch_sub(1) != 1) return;
        uint64_t none = 0;
        if (!it->holds_.compare_exchange_strong(none, kFreeing)) return;
        it->free_memory();
        // Adds instead of storing, because hold() of another thread may have added a hold for a moment.
        it->holds_.fetch_add(kFree - kFreeing);
    }
    static void release(std::atomic<MemoGeneration*>& place) {
        if (MemoGeneration* const it = place.exchange(nullptr)) release(it);
    }

    uint32_t number() const { return number_; }
    uint64_t holds() const { return holds_.load() & (kFreeing - 1); }
    MemoTable* table() const { return table_.load(); }
    size_t bytes() const {
        return bytes_of_tables_.load(std::memory_order_relaxed) + 4 * head_.load(std::memory_order_relaxed);
    }

    // Returns room for a record of `words` 32-bit words, and sets `place` to the record's start, which at() takes.
    // Returns null if the generation is full.
    uint32_t* reserve(size_t words, uint64_t* place) {
        for (int tries = 0; tries < 2; ++tries) {
            const uint64_t at = head_.fetch_add(words, std::memory_order_relaxed);
            const uint64_t chunk = at / kChunkWords;
            if (chunk >= kMostChunks) return nullptr;
            if (at % kChunkWords + words > kChunkWords) continue;  // a record must not cross the end of a chunk
            uint32_t* const memory = chunk_at(chunk);
            if (memory == nullptr) return nullptr;
            *place = at;
            return memory + at % kChunkWords;
        }
        return nullptr;
    }
    const uint32_t* at(uint64_t place) const {
        return chunks_[place / kChunkWords].load(std::memory_order_relaxed) + place % kChunkWords;
    }

    // Replaces `table` by a larger copy. Returns false if memory is short or the generation would exceed `most_bytes`.
    bool grow(MemoTable* table, size_t most_bytes) {
        const uint64_t buckets = table->buckets(), more = buckets < kManyBuckets ? 4 * buckets : 2 * buckets;
        if (bytes() + more * 2 * sizeof(Slot) > most_bytes) return false;
        std::unique_ptr<MemoTable> larger;
        try {
            larger = std::make_unique<MemoTable>(more);
        } catch (const std::bad_alloc&) {
            return false;
        }
        for (const Slot* slot = table->slots; slot < table->slots + 2 * buckets; ++slot) {
            const uint64_t last = slot->key[1].load(std::memory_order_acquire);
            if (last <= kClaimed) continue;
            const WordEntry entry = slot->read(last);
            const WordKey key = {entry.key[0], entry.key[1] & kWordKeyMask};
            const bool is_long = key.hi >> 56 == 0;
            if (Slot* const place = larger->claim(key, is_long ? key.lo : MemoReader::hash_of(key))) {
                place->publish(entry);
                larger->used.fetch_add(1, std::memory_order_relaxed);
            }
        }
        larger->smaller = table;
        larger->copied = larger->used.load(std::memory_order_relaxed);
        if (start_table(larger.get(), table)) (void)larger.release();  // otherwise another thread was first
        return true;
    }
    // Frees the tables that `table` replaced. No thread may read them.
    void free_smaller_tables(MemoTable* table) {
        if (table->smaller != nullptr) free_tables(std::exchange(table->smaller, nullptr));
    }

    std::atomic<MemoGeneration*> older{nullptr};

  private:
    // Values of holds_: unused, and being freed.
    static constexpr uint64_t kFree = uint64_t(1) << 40, kFreeing = uint64_t(1) << 32;

    bool start_table(MemoTable* table, MemoTable* before) {
        if (!table_.compare_exchange_strong(before, table)) return false;
        bytes_of_tables_.fetch_add(table->memory.bytes(), std::memory_order_relaxed);
        return true;
    }
    uint32_t* chunk_at(uint64_t chunk) {
        uint32_t* memory = chunks_[chunk].load(std::memory_order_acquire);
        if (memory != nullptr) return memory;
        constexpr size_t kBytes = kChunkWords * sizeof(uint32_t);
        void* block = chunk > 0 ? huge_memory(kBytes) : nullptr;  // the first chunk may stay nearly empty
        if (block == nullptr) block = std::malloc(kBytes);
        if (block == nullptr) return nullptr;
        if (chunks_[chunk].compare_exchange_strong(memory, static_cast<uint32_t*>(block), std::memory_order_acq_rel))
            return static_cast<uint32_t*>(block);
        std::free(block);
        return memory;
    }
    void free_tables(MemoTable* table) {
        while (table != nullptr) {
            bytes_of_tables_.fetch_sub(table->memory.bytes(), std::memory_order_relaxed);
            delete std::exchange(table, table->smaller);
        }
    }
    void free_memory() {
        release(older);
        free_tables(table_.exchange(nullptr));
        for (std::atomic<uint32_t*>& chunk : chunks_) std::free(chunk.exchange(nullptr));
        head_.store(0, std::memory_order_relaxed);
    }

    static std::atomic<MemoGeneration*> all_;
    static std::atomic<uint32_t> numbers_;

    std::atomic<uint64_t> holds_{kFree};
    uint32_t number_ = 0;
    MemoGeneration* next_ = nullptr;
    std::atomic<MemoTable*> table_{nullptr};
    std::atomic<size_t> bytes_of_tables_{0};
    alignas(64) std::atomic<uint64_t> head_{0};  // start of the next record, in words
    std::atomic<uint32_t*> chunks_[kMostChunks] = {};
};

std::atomic<MemoGeneration*> MemoGeneration::all_{nullptr};
std::atomic<uint32_t> MemoGeneration::numbers_{0};

void Memo::clear() {
    MemoGeneration::release(newest_);
}
bool Memo::is_read() const {
    const MemoGeneration* const newest = newest_.load();
    if (newest == nullptr) return false;
    const MemoGeneration* const older = newest->older.load();
    return newest->holds() > 1 || (older != nullptr && older->holds() > 1);
}
size_t Memo::bytes() const {
    const MemoGeneration* const newest = newest_.load();
    if (newest == nullptr) return 0;
    const MemoGeneration* const older = newest->older.load();
    return newest->bytes() + (older == nullptr ? 0 : older->bytes());
}

MemoReader::Hold MemoReader::hold(std::atomic<MemoGeneration*>& place) {
    MemoGeneration* const generation = MemoGeneration::hold(place);
    if (generation == nullptr) return {};
    return {generation, generation->number(), generation->table()};
}

void MemoReader::rest() {
    if (newer_.generation != nullptr) free_smaller_tables();
    for (Hold* hold : {&newer_, &older_}) {
        if (hold->generation != nullptr) MemoGeneration::release(hold->generation);
        *hold = {nullptr, hold->number, nullptr};
    }
}

bool MemoReader::refresh() {
    if (memo_ == nullptr) return false;
    const bool rests = newer_.generation == nullptr && newer_.number != 0;
    if (rests || memo_->newest_.load(std::memory_order_relaxed) != newer_.generation) return change();
    if (newer_.generation == nullptr) return false;
    free_smaller_tables();
    return false;
}

bool MemoReader::change() {
    const Hold before = std::exchange(newer_, {}), before_that = std::exchange(older_, {});
    newer_ = hold(memo_->newest_);
    if (newer_.generation != nullptr) older_ = hold(newer_.generation->older);
    bool is_gone = false;
    for (const Hold& each : {before, before_that}) {
        if (each.generation != nullptr) MemoGeneration::release(each.generation);
        is_gone |= each.number != 0 && each.number != newer_.number && each.number != older_.number;
    }
    return is_gone;
}

// Moves to the newest table, and frees the tables that it replaced if no other reader may read them: the memo and this
// reader have the two holds. The table is loaded before the holds are counted, so a later reader loads it or a larger
// one.
void MemoReader::free_smaller_tables() {
    MemoGeneration* const own = newer_.generation;
    newer_.table = own->table();
    if (own->holds() == 2 && memo_->newest_.load() == own) own->free_smaller_tables(newer_.table);
}

// Begins the memo's first generation, unless another thread has.
bool MemoReader::begin() {
    if (memo_ == nullptr) return false;
    MemoGeneration* const first = MemoGeneration::make();
    if (first == nullptr) return false;
    MemoGeneration* none = nullptr;
    if (!memo_->newest_.compare_exchange_strong(none, first)) MemoGeneration::release(first);
    change();
    return newer_.generation != nullptr;
}

MemoReader::Record MemoReader::record_of(const WordEntry& entry) const {
    const Hold& hold = entry.ids[2] == newer_.number ? newer_ : older_;
    return {hold.generation->at(place_of(entry)), entry.ids[3]};
}

uint64_t MemoReader::hash_of(Bytes word) {
    return long_word_hash(word);
}

size_t MemoReader::look_up(size_t n, const WordKey* keys, uint32_t* buckets, const WordEntry** entries,
                           uint32_t* missed) const {
    const MemoTable& table = *newer_.table;
    for (size_t i = 0; i < n; ++i) {
        buckets[i] = uint32_t(hash_of(keys[i]) & table.mask);
        prefetch_far(table.bucket(buckets[i]));
    }
    size_t n_missed = 0;
    for (size_t i = 0; i < n; ++i) {
        const Slot* const bucket = table.bucket(buckets[i]);
        const uint64_t first = bucket[0].differs(keys[i]), second = bucket[1].differs(keys[i]);
        entries[i] = reinterpret_cast<const WordEntry*>(bucket + first);  // published, so it never changes
        missed[n_missed] = uint32_t(i);
        n_missed += first & second;
    }
    return n_missed;
}

void MemoReader::prefetch_place(uint64_t hash) const {
    if (newer_.table != nullptr) prefetch_far(newer_.table->bucket(hash));
}

void MemoReader::prefetch_record(WordKey key, uint64_t hash) const {
    uint64_t last;
    if (newer_.table == nullptr) return;
    const Slot* const slot = newer_.table->find(key, hash, &last);
    if (slot != nullptr && last != 0) prefetch_far(newer_.generation->at(slot->ids[0].load(std::memory_order_relaxed)));
}

bool MemoReader::find(WordKey key, uint64_t hash, Bytes longer, WordEntry* found) {
    for (const Hold* hold : {&newer_, &older_}) {
        if (hold->table == nullptr) return false;
        uint64_t last;
        const Slot* const slot = hold->table->find(key, hash, &last);
        if (slot == nullptr || last == 0) continue;
        const WordEntry entry = slot->read(last);
        if (longer.size > 0) {
            const Record record = record_of(entry);
            if (std::memcmp(record.data, longer.data, longer.size) != 0) continue;
        }
        ++found_;
        *found = entry;
        if (hold == &older_) {
            if (word_ids(entry) == kRecorded) {
                const Record record = record_of(entry);
                const WordEntry moved = keep(key, hash, longer, record.ids(), record.count());
                if (word_ids(moved) == kRecorded) *found = moved;
            } else {
                keep(entry, hash);
            }
        }
        return true;
    }
    return false;
}

void MemoReader::keep(const WordEntry& entry, uint64_t hash) {
    if (newer_.table == nullptr && !begin()) return;
    Slot* const slot = newer_.table->claim({entry.key[0], entry.key[1] & kWordKeyMask}, hash);
    if (slot != nullptr) slot->publish(entry);
    note(slot != nullptr);
}

WordEntry MemoReader::keep(WordKey key, uint64_t hash, Bytes longer, const uint32_t* ids, size_t count) {
    WordEntry entry = entry_of_kind(key, kUncached);
    if (newer_.table == nullptr && !begin()) return entry;
    // A short word without a slot is worth a record: the thread's cache will name it.
    Slot* const slot = newer_.table->claim(key, hash);
    if (slot == nullptr && longer.size > 0) return entry;
    MemoGeneration& generation = *newer_.generation;
    uint64_t place;
    const size_t word_words = (longer.size + 3) / 4;
    // Readers copy four ids at a time. Sizes are multiples of four, so that few small records cross a cache line.
    const auto in_fours = [](size_t n) { return (n + 3) & ~size_t(3); };
    uint32_t* const record = generation.reserve(in_fours(word_words + in_fours(count)), &place);
    if (record == nullptr) return entry;
    if (longer.size > 0) std::memcpy(record, longer.data, longer.size);
    std::memcpy(record + word_words, ids, count * sizeof *ids);
    entry = entry_of_kind(key, kRecorded, place);
    entry.ids[2] = newer_.number;
    entry.ids[3] = uint32_t(longer.size | count << 16);
    if (slot != nullptr) slot->publish(entry);
    note(slot != nullptr);
    return entry;
}

void MemoReader::note(bool has_slot) {
    kept_ += has_slot;
    if (++tried_ == kTold) count_kept();
}

// Updates the shared counters. The thread that finds the table full makes a larger one or begins a new generation.
void MemoReader::count_kept() {
    MemoTable* const table = newer_.table;
    const uint64_t full = table->buckets() * 2 * 5 / 8, step = full / 8;
    const uint64_t found = table->found.fetch_add(found_, std::memory_order_relaxed) + found_;
    const uint64_t before = table->used.fetch_add(kept_, std::memory_order_relaxed), now = before + kept_;
    kept_ = found_ = tried_ = 0;
    MemoGeneration& generation = *newer_.generation;
    newer_.table = generation.table();
    if (newer_.table != table || memo_->newest_.load(std::memory_order_relaxed) != &generation) return;
    const size_t bytes = generation.bytes(), larger_bytes = bytes + 4 * table->memory.bytes();
    const size_t most = std::clamp(memory_limit(4 * larger_bytes) / 4, kLeast, kMostOfAll);
    // True once when the table fills, and again every `step` words, because the thread that saw it fill may not exist
    // after a fork().
    const bool is_full = now >= full && (before < full || now / step != before / step);
    if (bytes <= most && !is_full) return;
    const bool pays = 2 * found >= now - table->copied;  // text without repetitions would only fill the memory
    if (is_full && bytes <= most && generation.grow(table, pays ? most : std::min(most, kFreely))) {
        newer_.table = generation.table();
        return;
    }
    MemoGeneration* const next = MemoGeneration::make();
    if (next == nullptr) return;
    // The memo's hold on the old generation passes to `next`.
    MemoGeneration* expected = newer_.generation;
    next->older.store(expected);
    if (memo_->newest_.compare_exchange_strong(expected, next)) {
        MemoGeneration::release(newer_.generation->older);
    } else {
        next->older.store(nullptr);
        MemoGeneration::release(next);
    }
}

}  // namespace crayon
