// Large pages for memory that is written from end to end, or all over: with pages of 4 KiB, the first writes to them
// cost as much as encoding does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace crayon {

constexpr size_t kHugePage = size_t(1) << 21;

// Says so to the system, of the whole large pages between p and p + bytes. It may not care.
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

// Memory in large pages, freed by std::free(). Null for less than one large page, and if none are available.
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
