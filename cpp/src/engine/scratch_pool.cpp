#include "engine/scratch_pool.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "crayon/engine/working_memory.h"
#include "crayon/support/kept_blocks.h"
#include "encode/memo/memo.h"
#include "engine/scratch.h"
#include "support/coarse_clock.h"
#include "support/memory_limit.h"
#include "support/spare_tables.h"

namespace crayon {

// One engine's slots. A shelf is never freed, so looking through all shelves needs no lock. When an engine ends,
// another takes its shelf.
struct ScratchShelf {
    struct Slot {
        std::atomic<Scratch*> scratch{nullptr};
        // Advisory: written after the scratch is in its slot, and used for eviction only.
        std::atomic<size_t> bytes{0};
        std::atomic<int64_t> since{0};
    };
    Slot slots[ScratchPool::kSlots];
    Memo memos[ModelScratch::kMemos];
    std::atomic<bool> has_owner{true};
    ScratchShelf* next = nullptr;
};

namespace {

using Slot = ScratchShelf::Slot;

std::atomic<ScratchShelf*> shelves{nullptr};
std::atomic<uint64_t> made{0};
std::atomic<int64_t> idle_milliseconds{kIdleMilliseconds};
std::atomic<int64_t> next_look{0};

ScratchShelf* claim_shelf() {
    for (ScratchShelf* shelf = shelves.load(std::memory_order_acquire); shelf != nullptr; shelf = shelf->next) {
        bool has_owner = false;
        if (shelf->has_owner.compare_exchange_strong(has_owner, true)) return shelf;
    }
    auto* const shelf = new (std::nothrow) ScratchShelf();
    if (shelf == nullptr) return nullptr;
    shelf->next = shelves.load(std::memory_order_relaxed);
    while (!shelves.compare_exchange_weak(shelf->next, shelf, std::memory_order_release)) {
    }
    return shelf;
}

std::unique_ptr<Scratch> take_from(Slot& slot) {
    if (slot.scratch.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return std::unique_ptr<Scratch>(slot.scratch.exchange(nullptr, std::memory_order_acquire));
}

bool put_into(Slot& slot, Scratch* scratch, int64_t now) {
    Scratch* none = nullptr;
    const size_t bytes = scratch->held;
    if (!slot.scratch.compare_exchange_strong(none, scratch, std::memory_order_release)) return false;
    slot.bytes.store(bytes, std::memory_order_relaxed);
    slot.since.store(now, std::memory_order_relaxed);
    return true;
}

template <typename Visit>
void for_each_kept(Visit&& visit) {
    for (ScratchShelf* shelf = shelves.load(std::memory_order_acquire); shelf != nullptr; shelf = shelf->next)
        for (Slot& slot : shelf->slots)
            if (slot.scratch.load(std::memory_order_relaxed) != nullptr) visit(slot);
}

size_t memo_bytes() {
    size_t total = 0;
    for (ScratchShelf* shelf = shelves.load(std::memory_order_acquire); shelf != nullptr; shelf = shelf->next)
        for (const Memo& memo : shelf->memos) total += memo.bytes();
    return total;
}

// A memo is freed with the last scratch that reads it.
void clear_unread_memos() {
    for (ScratchShelf* shelf = shelves.load(std::memory_order_acquire); shelf != nullptr; shelf = shelf->next) {
        const auto is_kept = [](const Slot& slot) { return slot.scratch.load(std::memory_order_relaxed) != nullptr; };
        if (std::any_of(std::begin(shelf->slots), std::end(shelf->slots), is_kept)) continue;
        for (Memo& memo : shelf->memos)
            if (!memo.is_read()) memo.clear();
    }
}

size_t kept_bytes() {
    size_t total = memo_bytes();
    for_each_kept([&](Slot& slot) { total += slot.bytes.load(std::memory_order_relaxed); });
    return total;
}

// Frees the least recently used scratches until the rest is within the limit.
void keep_to_limit() {
    const size_t limit = memory_limit(kept_bytes());
    while (kept_bytes() > limit) {
        Slot* oldest = nullptr;
        int64_t since = 0;
        for_each_kept([&](Slot& slot) {
            const int64_t its = slot.since.load(std::memory_order_relaxed);
            // Of equally old scratches, frees the one in the last slot, because the first slots are used most.
            if (oldest == nullptr || its <= since) {
                oldest = &slot;
                since = its;
            }
        });
        if (oldest == nullptr) return;
        take_from(*oldest);
        clear_unread_memos();
    }
}

void free_idle(int64_t now) {
    const int64_t idle = idle_milliseconds.load(std::memory_order_relaxed);
    int64_t due = next_look.load(std::memory_order_relaxed);
    if (now < due || !next_look.compare_exchange_strong(due, now + idle / 8)) return;
    for_each_kept([&](Slot& slot) {
        if (slot.since.load(std::memory_order_relaxed) + idle <= now) take_from(slot);
    });
    clear_unread_memos();
    free_spare_tables();
    free_kept_blocks();
}

}  // namespace

ScratchShelf* ScratchPool::shelf() {
    ScratchShelf* shelf = shelf_.load(std::memory_order_acquire);
    if (shelf != nullptr) return shelf;
    ScratchShelf* const own = claim_shelf();
    if (own == nullptr) return nullptr;
    if (shelf_.compare_exchange_strong(shelf, own)) return own;
    own->has_owner.store(false);
    return shelf;
}

ScratchPool::~ScratchPool() {
    ScratchShelf* const shelf = shelf_.load();
    if (shelf == nullptr) return;
    for (Slot& slot : shelf->slots) take_from(slot);
    for (Memo& memo : shelf->memos) memo.clear();
    shelf->has_owner.store(false, std::memory_order_release);
}

std::unique_ptr<Scratch> ScratchPool::take(size_t worker) {
    if (ScratchShelf* const shelf = shelf_.load(std::memory_order_acquire); shelf != nullptr) {
        const size_t own = worker % kSlots;
        if (auto scratch = take_from(shelf->slots[own])) return scratch;
        for (Slot& slot : shelf->slots)
            if (auto scratch = take_from(slot)) return scratch;
    }
    ScratchShelf* const own = shelf();
    auto scratch = std::make_unique<Scratch>(own == nullptr ? nullptr : own->memos);
    scratch->slot = worker % kSlots;
    made.fetch_add(1, std::memory_order_relaxed);
    return scratch;
}

void ScratchPool::give(std::unique_ptr<Scratch> scratch) noexcept {
    scratch->trim();
    scratch->rest();
    const size_t before = scratch->held_with_memos;
    scratch->held = scratch->bytes();
    scratch->held_with_memos = scratch->held;
    for (size_t i = 0; i < ModelScratch::kMemos && scratch->memos != nullptr; ++i)
        scratch->held_with_memos += scratch->memos[i].bytes();
    const bool holds_more = scratch->held_with_memos > before;
    ScratchShelf* const own = shelf();
    if (own == nullptr) return;
    const int64_t now = coarse_milliseconds();
    bool is_kept = put_into(own->slots[scratch->slot], scratch.get(), now);
    for (size_t i = 0; i < kSlots && !is_kept; ++i) is_kept = put_into(own->slots[i], scratch.get(), now);
    if (is_kept) (void)scratch.release();
    if (holds_more) keep_to_limit();
    free_idle(now);
}

WorkingMemory working_memory() {
    WorkingMemory out = {memo_bytes() + spare_table_bytes() + kept_block_bytes.load(), 0, memory_limit(), made.load()};
    for_each_kept([&](Slot& slot) {
        out.bytes += slot.bytes.load(std::memory_order_relaxed);
        ++out.scratches;
    });
    return out;
}

void free_working_memory() {
    for_each_kept([](Slot& slot) { take_from(slot); });
    clear_unread_memos();
    free_spare_tables();
    free_kept_blocks();
#if defined(__GLIBC__)
    malloc_trim(0);  // earlier freed memory, mostly results of large calls, is still in malloc's arenas
#endif
}

void set_working_memory(size_t limit, int64_t milliseconds) {
    set_memory_limit(limit);
    idle_milliseconds.store(milliseconds);
    next_look.store(0);
}

}  // namespace crayon
