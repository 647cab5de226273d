// The kernels as the simulator runs them, by the numbers of Kernel: those of CUDA's branches and those of HIP's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {
namespace gpu_simulator {

struct SimulatedKernel {
    const char* name;
    uint32_t threads;     // of a block
    size_t shared_bytes;  // of a block
    // What a lane does. `work` is a Work, `shared` the block's.
    void (*run)(uint32_t block, const void* work, void* shared);
};

const SimulatedKernel* kernels_of_cuda();
const SimulatedKernel* kernels_of_hip();

}  // namespace gpu_simulator
}  // namespace crayon
