// Runs kernels as a GPU does: the lanes of a block in an order of chance, several blocks at a time. For host_device.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "block_runner.h"
#include "simulated_kernels.h"

namespace crayon {
namespace gpu_simulator {

enum class Runtime { cuda, hip };

struct Options {
    Runtime runtime = Runtime::cuda;
    uint32_t warp = 32;   // lanes: of CUDA 32, of HIP 32 or 64
    uint32_t blocks = 2;  // at a time, each in a thread of its own
    uint64_t seed = 0;    // of all that is left to chance in a block, and of the order of blocks
};

class Simulator {
  public:
    explicit Simulator(Options options);

    // All blocks of a kernel, which has the number of gpu::Kernel. `work` is a gpu::Work. Returns what went wrong, with
    // the kernel's name, or "". Launches of several threads go one after the other.
    std::string run(uint32_t kernel, uint32_t blocks, const void* work);

  private:
    const Options options_;
    const SimulatedKernel* const kernels_;
    std::mutex mutex_;
    uint64_t launches_ = 0;
    std::vector<std::unique_ptr<BlockRunner>> runners_;
};

}  // namespace gpu_simulator
}  // namespace crayon
