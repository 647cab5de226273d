// How much memory the engines of a process may keep between calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {

// Returns CRAYON_KEPT_MEMORY (MiB) if it is set, else a 32nd of the memory of the machine and the process's control
// groups: at least 64 MiB plus 16 MiB per core, at most 1 GiB. A caller that needs no more than `enough` bytes may get
// any value of at least `enough`. If `enough` is at most 64 MiB, this saves asking the system, which takes most of a
// millisecond.
size_t memory_limit(size_t enough = SIZE_MAX) noexcept;
// For tests; 0: the default.
void set_memory_limit(size_t bytes);

}  // namespace crayon
