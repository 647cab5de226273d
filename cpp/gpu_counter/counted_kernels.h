// The kernels, for the counter.
#pragma once

#include <cstdint>

namespace crayon {
namespace gpu_counter {

// Runs all blocks of a kernel; `kernel` is the number of a gpu::Kernel, `work` a gpu::Work.
void run_counted(uint32_t kernel, uint32_t blocks, const void* work);
const char* name_of(uint32_t kernel);

}  // namespace gpu_counter
}  // namespace crayon
