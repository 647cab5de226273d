// Choice of the instruction set at run time.
#pragma once

#include <string_view>
#include <vector>

namespace crayon {

// The x86-64 levels are sets of extensions: avx2 is AVX2, BMI1, BMI2, LZCNT and POPCNT, avx512 is those and AVX-512 F,
// BW, VL, DQ, VBMI and VBMI2. neon is what every AArch64 has.
enum class CpuLevel { scalar = 0, avx2 = 1, avx512 = 2, neon = 3 };

const char* cpu_level_name(CpuLevel level);

// The levels that this build and this CPU can both run, worst first.
std::vector<CpuLevel> available_cpu_levels();

// The best available level, or the one that CRAYON_CPU names ("scalar", "avx2", "avx512", "neon"). An unknown name, or
// a level that this machine cannot run, raises Error(argument). Read once per call: engines ask when they are opened.
CpuLevel selected_cpu_level();

}  // namespace crayon
