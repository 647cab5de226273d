// Small kernels, right and wrong ones, in the simulator: prints what went wrong, or what the lanes made. Compiled
// twice, as simulated_kernels.cpp is.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gpu_simulator/block_runner.h"
#include "gpu_simulator/device_functions.h"
//
#include "gpu/team.h"

namespace {

using crayon::gpu::Group;

uint32_t made[1024];
std::vector<uint32_t> order;
template <uint32_t kWidth>
using PerLane = crayon::gpu::PerLane<uint32_t, kWidth>;

void one_leaves(void*) {
    if (threadIdx.x == 5) return;
    __syncthreads();
}
void one_leaves_late(void*) {
    __syncthreads();
    if (threadIdx.x != 5) return;
    __syncthreads();
}
void two_places(void*) {
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    else
        __syncthreads();
}
void without_end(void*) {
    for (;;) __syncthreads();
}
void each_writes(void*) {
    order.push_back(threadIdx.x);
    __syncthreads();
}

// Half of a group's lanes do not come.
void half_exchanges(void*) {
    PerLane<16> values;
    values[0] = 100 + threadIdx.x;
    if (threadIdx.x % 16 < 8) made[threadIdx.x] = Group<16>().from(values, 12);
    __syncthreads();
}
// The others have left: nobody waits for them.
void half_has_left(void*) {
    PerLane<16> values;
    values[0] = 100 + threadIdx.x;
    if (threadIdx.x % 16 >= 8) return;
    made[threadIdx.x] = Group<16>().from(values, threadIdx.x % 2 != 0 ? 12 : 3);
}
// Groups go on without each other.
void groups_apart(void*) {
    const uint32_t group = threadIdx.x / 16;
    PerLane<16> values;
    values[0] = threadIdx.x;
    for (uint32_t i = 0; i <= group; ++i) values[0] += Group<16>().from(values, i);
    made[threadIdx.x] = values[0];
}
void least(void*) {
    PerLane<32> values;
    values[0] = 7 + (threadIdx.x * 11) % 32;
    made[threadIdx.x] = Group<32>().least(values);
}

#ifdef CRAYON_SIMULATES_HIP
void ballots(void*) {
    made[threadIdx.x] = uint32_t(__ballot(threadIdx.x % 3 == 0) >> 32);
}
void shuffles(void*) {
    const uint32_t mine = threadIdx.x;
    made[mine] =
        __shfl_up(mine, 1, 8) | __shfl_down(mine, 1, 8) << 8 | __shfl_xor(mine, 4, 8) << 16 | __shfl(mine, 9, 8) << 24;
}
#else
void ballots(void*) {
    made[threadIdx.x] = __ballot_sync(~uint32_t(0), threadIdx.x % 3 == 0);
}
void shuffles(void*) {
    const uint32_t mine = threadIdx.x, all = ~uint32_t(0);
    made[mine] = __shfl_up_sync(all, mine, 1, 8) | __shfl_down_sync(all, mine, 1, 8) << 8 |
                 __shfl_xor_sync(all, mine, 4, 8) << 16 | __shfl_sync(all, mine, 9, 8) << 24;
}
void not_itself(void*) {
    __syncwarp(0xFFFFFFFEu);
}
#endif

const struct {
    const char* name;
    void (*run)(void*);
} kKernels[] = {
#define CRAYON_KERNEL(name) \
    { #name, name }
    CRAYON_KERNEL(one_leaves),    CRAYON_KERNEL(one_leaves_late), CRAYON_KERNEL(two_places),
    CRAYON_KERNEL(without_end),   CRAYON_KERNEL(each_writes),     CRAYON_KERNEL(half_exchanges),
    CRAYON_KERNEL(half_has_left), CRAYON_KERNEL(groups_apart),    CRAYON_KERNEL(least),
    CRAYON_KERNEL(ballots),       CRAYON_KERNEL(shuffles),
#ifndef CRAYON_SIMULATES_HIP
    CRAYON_KERNEL(not_itself),
#endif
};

}  // namespace

// NAME WARP THREADS SEED
int main(int, char** arguments) {
    using namespace crayon::gpu_simulator;
    const uint32_t warp = uint32_t(std::atoi(arguments[2])), threads = uint32_t(std::atoi(arguments[3]));
    const uint64_t seed = uint64_t(std::atoi(arguments[4]));
#ifdef CRAYON_SIMULATES_HIP
    BlockRunner runner({warp, Lockstep::whoever});
#else
    BlockRunner runner({warp, Lockstep::named});
#endif
    char before = 0, after = 0;
    for (const auto& kernel : kKernels) {
        if (std::strcmp(kernel.name, arguments[1]) != 0) continue;
        const std::string wrong = runner.run(threads, seed, kernel.run, nullptr, {&before, &after});
        std::fprintf(stderr, "%s", wrong.c_str());
        // After a failure it goes on as before.
        order.clear();
        const std::string other = runner.run(threads, seed, each_writes, nullptr, {&before, &after});
        if (!other.empty() || order.size() != threads) return 1;
        if (std::strcmp(kernel.name, "each_writes") != 0) order.assign(made, made + threads);
        for (const uint32_t value : order) std::printf("%u ", value);
        return 0;
    }
    return 2;
}
