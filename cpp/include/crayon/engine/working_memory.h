// The memory that the engines of this process keep between calls, with caches of the words they met.
//
// memory_limit.h sets its limit; beyond it, the least recently used memory is freed. Memory that is unused for a minute
// is freed when the next call of any engine ends, because no thread runs between calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {

struct WorkingMemory {
    size_t bytes;      // kept now, not in use
    size_t scratches;  // kept: one per thread
    size_t limit;      // in bytes
    uint64_t made;     // scratches created since the process began
};
WorkingMemory working_memory();

// Frees all kept memory that is not in use. Safe beside calls in other threads, which allocate anew.
void free_working_memory();

// For tests: sets the limit (0: the default) and how long unused memory is kept.
void set_working_memory(size_t limit, int64_t idle_milliseconds);
constexpr int64_t kIdleMilliseconds = 60'000;

}  // namespace crayon
