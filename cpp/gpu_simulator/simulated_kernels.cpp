// Compiles the kernels for the simulator. The build compiles this file twice, once with CRAYON_SIMULATES_HIP.
// ThreadSanitizer instruments only this file, so it reports races of kernels only.
#include "simulated_kernels.h"

#include "device_functions.h"
//
#include "gpu/kernels.h"

namespace crayon {
namespace gpu {
namespace {

template <typename K>
void run_lane(uint32_t block, const void* work, void* shared) {
    static_assert(K::kThreads % 32 == 0 && K::kThreads <= 1024, "whole warps");
    K::run(Block<K::kThreads>(block), *static_cast<const Work*>(work), *static_cast<typename K::Shared*>(shared));
}

#define CRAYON_ROW(name, ...) {#name, __VA_ARGS__::kThreads, sizeof(__VA_ARGS__::Shared), &run_lane<__VA_ARGS__>},
const gpu_simulator::SimulatedKernel kTable[] = {CRAYON_KERNELS(CRAYON_ROW)};
#undef CRAYON_ROW

}  // namespace
}  // namespace gpu

namespace gpu_simulator {

#ifdef CRAYON_SIMULATES_HIP
const SimulatedKernel* kernels_of_hip() {
    return gpu::kTable;
}
#else
const SimulatedKernel* kernels_of_cuda() {
    return gpu::kTable;
}
#endif

}  // namespace gpu_simulator
}  // namespace crayon
