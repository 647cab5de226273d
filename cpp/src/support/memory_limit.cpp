#include "support/memory_limit.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "crayon/support/cores.h"
#include "support/control_groups.h"

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace crayon {
namespace {

constexpr size_t kMiB = size_t(1) << 20, kLeast = 64 * kMiB, kMost = 1024 * kMiB;

constexpr char kVariable[] = "CRAYON_KEPT_MEMORY";

std::atomic<size_t> set_limit{0};

size_t machine_memory() {
#if defined(_WIN32)
    MEMORYSTATUSEX status;
    status.dwLength = sizeof status;
    return GlobalMemoryStatusEx(&status) ? size_t(status.ullTotalPhys) : 0;
#elif defined(_SC_PHYS_PAGES)
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? size_t(pages) * size_t(size) : 0;
#else
    return 0;
#endif
}

size_t group_memory() {
    size_t least = SIZE_MAX;
    for (const ControlGroup& group : control_groups("", "memory")) {
        size_t limit = 0;  // stays 0 if the file says "max"
        if (std::ifstream(group.directory + (group.is_v2 ? "/memory.max" : "/memory.limit_in_bytes")) >> limit)
            least = std::min(least, limit);
    }
    return least;
}

size_t first_limit() {
    if (const char* said = std::getenv(kVariable)) {
        char* end = nullptr;
        const unsigned long long mib = std::strtoull(said, &end, 10);
        if (end != said && *end == 0) return std::clamp<size_t>(size_t(mib), 1, SIZE_MAX / kMiB) * kMiB;
    }
    const size_t memory = std::min(machine_memory(), group_memory());
    const size_t for_cores = kLeast + usable_cores() * 16 * kMiB;
    return std::min({kMost, std::max(memory / 32, for_cores), std::max(memory / 4, kLeast)});
}

}  // namespace

size_t memory_limit(size_t enough) noexcept {
    if (const size_t limit = set_limit.load(std::memory_order_relaxed); limit != 0) return limit;
    // Not a static initialized once: a child of fork() could wait for a parent's thread that initializes it.
    static std::atomic<size_t> known{0};
    size_t limit = known.load(std::memory_order_relaxed);
    if (limit != 0) return limit;
    if (enough <= kLeast && std::getenv(kVariable) == nullptr) return kLeast;
    try {
        limit = first_limit();
    } catch (...) {  // no memory to read the files
        return kLeast;
    }
    known.store(limit, std::memory_order_relaxed);
    return limit;
}

void set_memory_limit(size_t bytes) {
    set_limit.store(bytes);
}

}  // namespace crayon
