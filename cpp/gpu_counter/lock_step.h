// A model of how many instructions a GPU's warps issue. The lanes of a warp run in lockstep. So a warp issues a basic
// block as often as the lane that runs it most often. Lanes on different branches cost both branches.
#pragma once

#include <cstdint>

namespace crayon {
namespace gpu_counter {

struct Count {
    uint64_t of_warps = 0;  // instructions issued
    uint64_t of_lanes = 0;  // instructions times the lanes that execute them
};

// Sets the lanes per warp, 32 or 64, for all later calls.
void set_warp(uint32_t lanes);
// Returns and resets the counts.
Count take_count();

}  // namespace gpu_counter
}  // namespace crayon
