// The scanners of each instruction set, for the dispatch in pattern_families.cpp.
#pragma once

#include "crayon/scan/pattern_families.h"

#if defined(__x86_64__) || defined(_M_X64)
#define CRAYON_X86_64 1
#else
#define CRAYON_X86_64 0
#endif
#if defined(__aarch64__) || defined(_M_ARM64)
#define CRAYON_AARCH64 1
#else
#define CRAYON_AARCH64 0
#endif

namespace crayon {

// Null where the set has none for the family.
ScanFunction scalar_scanner(Family family);

#if CRAYON_X86_64
ScanFunction avx2_scanner(Family family);
ScanFunction avx512_scanner(Family family);
#endif
#if CRAYON_AARCH64
ScanFunction neon_scanner(Family family);
#endif

}  // namespace crayon
