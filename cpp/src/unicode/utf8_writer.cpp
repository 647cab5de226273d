#include "unicode/utf8_writer.h"

#include "crayon/support/cpu.h"

namespace crayon {

const Utf8Writers kNoUtf8Writers{};

const Utf8Writers& best_utf8_writers() {
    switch (selected_cpu_level()) {
#if CRAYON_X86_64
        case CpuLevel::avx512:
            return kAvx512Utf8Writers;
        case CpuLevel::avx2:
            return kAvx2Utf8Writers;
#endif
#if CRAYON_AARCH64
        case CpuLevel::neon:
            return kNeonUtf8Writers;
#endif
        default:
            return kNoUtf8Writers;
    }
}

}  // namespace crayon
