// The only file that is compiled with the marked team.h and whose basic blocks are counted.
#include "counted_kernels.h"

#include <memory>

#include "gpu/kernels.h"
#include "marks.h"

namespace crayon {
namespace gpu_counter {
namespace {

template <typename K>
void run_all_blocks(uint32_t blocks, const gpu::Work& work) {
    const auto shared = std::make_unique<typename K::Shared>();
    for (uint32_t i = 0; i < blocks; ++i) {
        crayon_count_block_begins(K::kThreads);
        K::run(gpu::Block<K::kThreads>(i), work, *shared);
        crayon_count_block_ends();
    }
}

}  // namespace

void run_counted(uint32_t kernel, uint32_t blocks, const void* work) {
    using namespace gpu;
    const Work& given = *static_cast<const Work*>(work);
    switch (Kernel(kernel)) {
#define CRAYON_RUN(name, ...)                       \
    case Kernel::name:                              \
        run_all_blocks<__VA_ARGS__>(blocks, given); \
        break;
        CRAYON_KERNELS(CRAYON_RUN)
#undef CRAYON_RUN
    }
}

const char* name_of(uint32_t kernel) {
#define CRAYON_NAME(name, ...) #name,
    static constexpr const char* kNames[] = {CRAYON_KERNELS(CRAYON_NAME)};
#undef CRAYON_NAME
    return kNames[kernel];
}

}  // namespace gpu_counter
}  // namespace crayon
