// How many instructions the warps of a GPU issue: a model. The lanes of a warp go in lock step, so a block of
// instructions costs a warp as often as that lane runs it that runs it most. Lanes that take different ways cost both.
#pragma once

#include <cstdint>

namespace crayon {
namespace gpu_counter {

struct Count {
    uint64_t of_warps = 0;  // instructions issued
    uint64_t of_lanes = 0;  // the same, times the lanes that had something to do
};

// Lanes to a warp: 32 or 64. For all that follows.
void set_warp(uint32_t lanes);
// What was counted since the last call.
Count take_count();

}  // namespace gpu_counter
}  // namespace crayon
