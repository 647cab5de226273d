// Helpers of the programs that compare kernels.
#pragma once

#include <cstddef>
#include <cstdio>

#include "crayon/support/cpu.h"

namespace crayon {

// Prints the levels compared, and returns the program's exit status.
inline int report(size_t differences) {
    std::printf("levels:");
    for (const CpuLevel level : available_cpu_levels()) std::printf(" %s", cpu_level_name(level));
    std::printf("; %zu differences\n", differences);
    return differences != 0;
}

}  // namespace crayon
