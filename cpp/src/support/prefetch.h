// Prefetches a cache line.
#pragma once

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace crayon {

inline void prefetch(const void* p) {
#if defined(_MSC_VER)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#else
    __builtin_prefetch(p);
#endif
}

// Prefetches a cache line of a large table into the second-level cache, which can await twice as many lines.
inline void prefetch_far(const void* p) {
#if defined(_MSC_VER)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
#else
    __builtin_prefetch(p, 0, 2);
#endif
}

// Prefetches a cache line that will be written.
inline void prefetch_for_write(const void* p) {
#if defined(_MSC_VER)
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#else
    __builtin_prefetch(p, 1);
#endif
}

}  // namespace crayon
