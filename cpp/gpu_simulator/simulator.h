// Runs kernels as a GPU does: the lanes of a block in random order, several blocks at a time. For host_device.h.
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
    uint32_t warp = 32;   // In lanes: 32 for CUDA, 32 or 64 for HIP.
    uint32_t blocks = 2;  // Blocks at a time, each in a thread of its own.
    uint64_t seed = 0;    // Seeds all random choices in a block, and the order of blocks.
};

class Simulator {
  public:
    explicit Simulator(Options options);

    // Runs all blocks of a kernel; `kernel` is the number of a gpu::Kernel, `work` a gpu::Work. Returns "", or the
    // fault with the kernel's name. Concurrent launches run one after the other.
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
