// Selects the instruction set at run time.
#pragma once

#include <string_view>
#include <vector>

namespace crayon {

// Each x86-64 level is a set of extensions. avx2: AVX2, BMI1, BMI2, LZCNT, POPCNT. avx512: the same, and AVX-512 F, BW,
// VL, DQ, VBMI, VBMI2. Every AArch64 has neon.
enum class CpuLevel { scalar = 0, avx2 = 1, avx512 = 2, neon = 3 };

const char* cpu_level_name(CpuLevel level);

// The levels that this build and this CPU support, slowest first.
const std::vector<CpuLevel>& available_cpu_levels();

// The fastest available level, or the one that CRAYON_CPU names ("scalar", "avx2", "avx512", "neon"). Throws
// Error(argument) for an unknown name or an unavailable level. Reads the variable on each call; engines call it when
// they open.
CpuLevel selected_cpu_level();

}  // namespace crayon
