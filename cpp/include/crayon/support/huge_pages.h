// Large pages for memory that is written completely or at random. With 4 KiB pages, page faults cost as much as
// encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace crayon {

constexpr size_t kHugePage = size_t(1) << 21;

// Requests large pages for the range, as far as whole large pages are inside it. The system may ignore this.
inline void advise_huge_pages(void* p, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + kHugePage - 1) & ~uintptr_t(kHugePage - 1);
    const uintptr_t end = (reinterpret_cast<uintptr_t>(p) + bytes) & ~uintptr_t(kHugePage - 1);
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
    (void)p;
    (void)bytes;
#endif
}

// Returns memory in large pages, which the caller frees with std::free(). Returns null for less than one large page, or
// if none is available.
inline void* huge_memory(size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (bytes < kHugePage) return nullptr;
    const size_t whole = (bytes + kHugePage - 1) & ~(kHugePage - 1);
    void* const p = whole < bytes ? nullptr : std::aligned_alloc(kHugePage, whole);
    if (p != nullptr) advise_huge_pages(p, whole);
    return p;
#else
    (void)bytes;
    return nullptr;
#endif
}

}  // namespace crayon
