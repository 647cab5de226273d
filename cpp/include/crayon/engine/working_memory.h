// The memory that engines keep between calls, so that a thread knows the words it met: of the whole process.
//
// It has a limit (memory_limit.h), beyond which what was not used for longest goes. What was not used for a minute goes
// as well, when the next call of any engine ends: no thread of ours runs between calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {

struct WorkingMemory {
    size_t bytes;      // kept now, by nobody in use
    size_t scratches;  // of so many threads
    size_t limit;      // of bytes
    uint64_t made;     // scratches since the process began
};
WorkingMemory working_memory();

// Frees all that is kept and not in use. Safe beside calls in other threads, which make theirs anew.
void free_working_memory();

// For tests: the limit (0: as above), and how long what is not used stays.
void set_working_memory(size_t limit, int64_t idle_milliseconds);
constexpr int64_t kIdleMilliseconds = 60'000;

}  // namespace crayon
