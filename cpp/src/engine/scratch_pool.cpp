#include "engine/scratch_pool.h"

#include <new>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "crayon/engine/working_memory.h"
#include "crayon/support/cores.h"
#include "crayon/support/kept_blocks.h"
#include "engine/scratch.h"
#include "support/coarse_clock.h"
#include "support/spare_tables.h"

namespace crayon {

// One engine's slots. A shelf is never freed, so looking through all shelves needs no lock. When an engine ends,
// another takes its shelf.
struct ScratchShelf {
    struct Slot {
        std::atomic<Scratch*> scratch{nullptr};
        // What is written after the scratch was put down may be late: it only says what to throw away.
        std::atomic<size_t> bytes{0};
        std::atomic<int64_t> since{0};
    };
    Slot slots[ScratchPool::kSlots];
    std::atomic<bool> has_owner{true};
    ScratchShelf* next = nullptr;
};

namespace {

using Slot = ScratchShelf::Slot;

std::atomic<ScratchShelf*> shelves{nullptr};
std::atomic<uint64_t> made{0};
std::atomic<size_t> set_limit{0};
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

constexpr size_t kLimit = size_t(64) << 20, kLimitOfCore = size_t(16) << 20;

size_t limit_of_all() {
    if (const size_t limit = set_limit.load(std::memory_order_relaxed); limit != 0) return limit;
    return kLimit + usable_cores() * kLimitOfCore;
}

size_t kept_bytes() {
    size_t total = 0;
    for_each_kept([&](Slot& slot) { total += slot.bytes.load(std::memory_order_relaxed); });
    return total;
}

// Frees what was not used for longest until the rest keeps to the limit.
void keep_to_limit() {
    // How many cores there are, only the system knows: it is not asked in each call that needs a little more.
    if (set_limit.load(std::memory_order_relaxed) == 0 && kept_bytes() <= kLimit) return;
    const size_t limit = limit_of_all();
    while (kept_bytes() > limit) {
        Slot* oldest = nullptr;
        int64_t since = 0;
        for_each_kept([&](Slot& slot) {
            const int64_t its = slot.since.load(std::memory_order_relaxed);
            // Of those of one time the last: the first slots are those that are used whenever there is work.
            if (oldest == nullptr || its <= since) {
                oldest = &slot;
                since = its;
            }
        });
        if (oldest == nullptr) return;
        take_from(*oldest);
    }
}

void free_idle(int64_t now) {
    const int64_t idle = idle_milliseconds.load(std::memory_order_relaxed);
    int64_t due = next_look.load(std::memory_order_relaxed);
    if (now < due || !next_look.compare_exchange_strong(due, now + idle / 8)) return;
    for_each_kept([&](Slot& slot) {
        if (slot.since.load(std::memory_order_relaxed) + idle <= now) take_from(slot);
    });
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
    shelf->has_owner.store(false, std::memory_order_release);
}

std::unique_ptr<Scratch> ScratchPool::take(size_t worker) {
    if (ScratchShelf* const shelf = shelf_.load(std::memory_order_acquire); shelf != nullptr) {
        const size_t own = worker % kSlots;
        if (auto scratch = take_from(shelf->slots[own])) return scratch;
        for (Slot& slot : shelf->slots)
            if (auto scratch = take_from(slot)) return scratch;
    }
    auto scratch = std::make_unique<Scratch>();
    scratch->slot = worker % kSlots;
    made.fetch_add(1, std::memory_order_relaxed);
    return scratch;
}

void ScratchPool::give(std::unique_ptr<Scratch> scratch) {
    scratch->trim();
    const size_t before = scratch->held, held = scratch->bytes();
    scratch->held = held;
    ScratchShelf* const own = shelf();
    if (own == nullptr) return;
    const int64_t now = coarse_milliseconds();
    bool is_kept = put_into(own->slots[scratch->slot], scratch.get(), now);
    for (size_t i = 0; i < kSlots && !is_kept; ++i) is_kept = put_into(own->slots[i], scratch.get(), now);
    if (is_kept) (void)scratch.release();
    if (held > before) keep_to_limit();
    free_idle(now);
}

WorkingMemory working_memory() {
    WorkingMemory out = {spare_table_bytes() + kept_block_bytes.load(), 0, limit_of_all(), made.load()};
    for_each_kept([&](Slot& slot) {
        out.bytes += slot.bytes.load(std::memory_order_relaxed);
        ++out.scratches;
    });
    return out;
}

void free_working_memory() {
    for_each_kept([](Slot& slot) { take_from(slot); });
    free_spare_tables();
    free_kept_blocks();
#if defined(__GLIBC__)
    malloc_trim(0);  // what was freed before, the results of large calls above all, lies in its arenas
#endif
}

void set_working_memory(size_t limit, int64_t milliseconds) {
    set_limit.store(limit);
    idle_milliseconds.store(milliseconds);
    next_look.store(0);
}

}  // namespace crayon
