#include "support/spare_tables.h"

#include <atomic>
#include <cstdlib>

namespace crayon {
namespace {

constexpr size_t kSmallest = size_t(1) << 21;  // a large page
constexpr size_t kSizes = 3;                   // one, two and four large pages

// Lock-free, because the child of a fork could find a lock taken for ever.
std::atomic<void*> kept[kSizes];

// Returns the index in `kept` for blocks of `bytes`, or kSizes if none fits.
size_t place_of(size_t bytes) {
    size_t place = 0;
    while (place < kSizes && kSmallest << place != bytes) ++place;
    return place;
}

}  // namespace

void* take_spare_table(size_t bytes) {
    const size_t place = place_of(bytes);
    if (place == kSizes || kept[place].load(std::memory_order_relaxed) == nullptr) return nullptr;
    return kept[place].exchange(nullptr, std::memory_order_acquire);
}

void give_spare_table(void* block, size_t bytes) {
    const size_t place = place_of(bytes);
    void* none = nullptr;
    if (place == kSizes || !kept[place].compare_exchange_strong(none, block, std::memory_order_release))
        std::free(block);
}

size_t spare_table_bytes() {
    size_t bytes = 0;
    for (size_t place = 0; place < kSizes; ++place)
        if (kept[place].load(std::memory_order_relaxed) != nullptr) bytes += kSmallest << place;
    return bytes;
}

void free_spare_tables() {
    for (std::atomic<void*>& block : kept) std::free(block.exchange(nullptr, std::memory_order_acquire));
}

}  // namespace crayon
