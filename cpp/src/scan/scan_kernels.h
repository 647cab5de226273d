// The scanners of each instruction set, for the dispatch in pattern_families.cpp.
#pragma once

#include "crayon/scan/pattern_families.h"
#include "support/target.h"

namespace crayon {

// These return null if the instruction set has no scanner for the family.
ScanFunction scalar_scanner(Family family);

#if CRAYON_X86_64
ScanFunction avx2_scanner(Family family);
ScanFunction avx512_scanner(Family family);
#endif
#if CRAYON_AARCH64
ScanFunction neon_scanner(Family family);
#endif

}  // namespace crayon
