#include "unicode/utf8_error.h"

#include "crayon/support/cpu.h"
#include "crayon/unicode/unicode.h"

namespace crayon {

Utf8Error best_utf8_error() {
#if CRAYON_X86_64
    if (selected_cpu_level() >= CpuLevel::avx2)
        return [](const uint8_t* text, size_t size) {
            const size_t valid = avx2_utf8_prefix(text, size);
            return valid + utf8_error(text + valid, size - valid);
        };
#endif
    return utf8_error;
}

}  // namespace crayon
