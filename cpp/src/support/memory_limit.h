// How much memory the engines of a process may keep between calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {

// What CRAYON_KEPT_MEMORY says, in MiB. Else the 32nd part of the memory that the machine and the process's control
// groups have: at least 64 MiB and 16 MiB for each core, at most 1 GiB.
// With `enough`, any value of at least that much stands for a limit that is as large: the system is asked, which takes
// most of a millisecond, only where 64 MiB are not enough.
size_t memory_limit(size_t enough = SIZE_MAX) noexcept;
// For tests; 0: as above.
void set_memory_limit(size_t bytes);

}  // namespace crayon
