// The kernels for the simulator, by the numbers of Kernel: with CUDA's branches and with HIP's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crayon {
namespace gpu_simulator {

struct SimulatedKernel {
    const char* name;
    uint32_t threads;     // of a block
    size_t shared_bytes;  // of a block
    // Runs one lane. `work` points to a gpu::Work, `shared` to the block's shared memory.
    void (*run)(uint32_t block, const void* work, void* shared);
};

const SimulatedKernel* kernels_of_cuda();
const SimulatedKernel* kernels_of_hip();

}  // namespace gpu_simulator
}  // namespace crayon
