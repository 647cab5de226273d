// What the threads of a block, its lanes, ask of the simulator: who they are, and to meet others. device_functions.h
// makes of it what CUDA and HIP have.
#pragma once

#include <cstdint>

namespace crayon {
namespace gpu_simulator {

// Where lanes meet: `place` has an address of its own for each instance of a function.
struct Site {
    const char* place;
    const char* function;
    int line;
};

uint32_t thread_index();
uint32_t lane_in_warp();

// All threads of the block. What each wrote before, all see afterwards.
void meet_in_block(const Site& site);

// The lanes of a warp that `lanes` has a bit for. Memory is in order only where each has called `fence` before.
void meet_in_warp(const Site& site, uint64_t lanes);
void fence();
// The value of `from`, a lane of the warp; of one that does not take part, anything (CUDA) or zero (HIP).
uint64_t exchange(const Site& site, uint64_t lanes, uint64_t value, uint32_t from);

// Before what another lane may do first: sometimes it does.
void let_others();

}  // namespace gpu_simulator
}  // namespace crayon
