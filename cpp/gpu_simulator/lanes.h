// The simulator's interface for lanes, the threads of a block: their number, and barriers. device_functions.h builds
// CUDA's and HIP's functions on it.
#pragma once

#include <cstdint>

namespace crayon {
namespace gpu_simulator {

// The place of a barrier: `place` is a unique address for each instance of a function.
struct Site {
    const char* place;
    const char* function;
    int line;
};

uint32_t thread_index();
uint32_t lane_in_warp();

// A barrier of all threads of the block. Afterwards every thread sees the writes of all.
void meet_in_block(const Site& site);

// A barrier of the lanes in `lanes`, a bit mask over the warp. Orders memory only if each lane has called `fence`
// before.
void meet_in_warp(const Site& site, uint64_t lanes);
void fence();
// Returns the value of lane `from` of the warp. The value of a lane that does not take part is undefined (CUDA) or zero
// (HIP).
uint64_t exchange(const Site& site, uint64_t lanes, uint64_t value, uint32_t from);

// Sometimes switches to another lane. Call this before an operation whose order among lanes matters, such as an atomic
// one.
void let_others();

}  // namespace gpu_simulator
}  // namespace crayon
