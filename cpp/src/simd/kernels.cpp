#include "crayon/simd/kernels.h"

#include "crayon/support/error.h"
#include "support/target.h"

namespace crayon {

const Kernels& kernels_of(CpuLevel level) {
    switch (level) {
#if CRAYON_X86_64
        case CpuLevel::avx2:
            return kAvx2Kernels;
        case CpuLevel::avx512:
            return kAvx512Kernels;
#elif CRAYON_AARCH64
        case CpuLevel::neon:
            return kNeonKernels;
#endif
        default:
            return kScalarKernels;
    }
}

const Kernels& selected_kernels() {
    return kernels_of(selected_cpu_level());
}

ScanFunction Scanners::of(Family family) const {
    if (uint32_t(family) >= kFamilyCount) throw Error(ErrorKind::argument, "unknown number of a pretokenizer family");
    return by_family[uint32_t(family)];
}

}  // namespace crayon
