// The kernels, for the counter.
#pragma once

#include <cstdint>

namespace crayon {
namespace gpu_counter {

// All blocks of a kernel, which has the number of gpu::Kernel. `work` is a gpu::Work.
void run_counted(uint32_t kernel, uint32_t blocks, const void* work);
const char* name_of(uint32_t kernel);

}  // namespace gpu_counter
}  // namespace crayon
