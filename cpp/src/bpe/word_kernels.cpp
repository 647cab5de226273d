#include "bpe/word_kernels.h"

#include "support/target.h"

namespace crayon {

const WordKernels& word_kernels(CpuLevel level) {
    static constexpr WordKernels plain;
#if CRAYON_X86_64
    if (level == CpuLevel::avx512) return kWordKernelsAvx512;
#endif
    (void)level;
    return plain;
}

}  // namespace crayon
