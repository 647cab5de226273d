#include "crayon/support/cpu.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "crayon/support/error.h"
#include "support/target.h"

#if CRAYON_X86_64
#if defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace crayon {
namespace {

#if CRAYON_X86_64

struct Registers {
    uint32_t eax, ebx, ecx, edx;
};

Registers cpuid(uint32_t leaf) {
    Registers r{0, 0, 0, 0};
#if defined(_MSC_VER) && !defined(__clang__)
    int values[4] = {0, 0, 0, 0};
    __cpuid(values, static_cast<int>(leaf & 0x80000000u));
    if (static_cast<uint32_t>(values[0]) >= leaf) {
        __cpuidex(values, static_cast<int>(leaf), 0);
        r = {static_cast<uint32_t>(values[0]), static_cast<uint32_t>(values[1]), static_cast<uint32_t>(values[2]),
             static_cast<uint32_t>(values[3])};
    }
#else
    // Leaves all registers zero if the CPU lacks the leaf.
    __get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx);
#endif
    return r;
}

// The state that the operating system saves at a context switch; only valid if OSXSAVE is set.
uint64_t enabled_state() {
#if defined(_MSC_VER) && !defined(__clang__)
    return _xgetbv(0);
#else
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return static_cast<uint64_t>(high) << 32 | low;
#endif
}

// AVX2 and the bit-manipulation instructions that the AVX2 files are compiled for.
bool has_avx2() {
    constexpr uint32_t kPopcnt = 1u << 23;
    constexpr uint32_t kOsxsave = 1u << 27;
    constexpr uint32_t kAvx = 1u << 28;
    constexpr uint32_t kBmi1 = 1u << 3;
    constexpr uint32_t kAvx2 = 1u << 5;
    constexpr uint32_t kBmi2 = 1u << 8;
    constexpr uint32_t kLzcnt = 1u << 5;
    const uint32_t basic = cpuid(1).ecx;
    const uint32_t extended = cpuid(7).ebx;
    if (~basic & (kPopcnt | kOsxsave | kAvx)) return false;
    if (~extended & (kBmi1 | kAvx2 | kBmi2)) return false;
    if (!(cpuid(0x80000001u).ecx & kLzcnt)) return false;
    return (enabled_state() & 6) == 6;
}

// The extensions that the AVX-512 files are compiled for, in addition to AVX2's.
bool has_avx512() {
    constexpr uint32_t kF = 1u << 16;
    constexpr uint32_t kDq = 1u << 17;
    constexpr uint32_t kBw = 1u << 30;
    constexpr uint32_t kVl = 1u << 31;
    constexpr uint32_t kVbmi = 1u << 1;
    constexpr uint32_t kVbmi2 = 1u << 6;
    constexpr uint64_t kState = 0xE6;  // SSE, AVX, mask registers, upper halves, upper sixteen registers
    if (!has_avx2()) return false;
    const Registers extended = cpuid(7);
    if (~extended.ebx & (kF | kDq | kBw | kVl)) return false;
    if (~extended.ecx & (kVbmi | kVbmi2)) return false;
    return (enabled_state() & kState) == kState;
}

#endif

std::vector<CpuLevel> find_cpu_levels() {
    std::vector<CpuLevel> levels{CpuLevel::scalar};
#if CRAYON_X86_64
    if (has_avx2()) levels.push_back(CpuLevel::avx2);
    if (has_avx512()) levels.push_back(CpuLevel::avx512);
#elif CRAYON_AARCH64
    levels.push_back(CpuLevel::neon);
#endif
    return levels;
}

}  // namespace

const char* cpu_level_name(CpuLevel level) {
    switch (level) {
        case CpuLevel::scalar:
            break;
        case CpuLevel::avx2:
            return "avx2";
        case CpuLevel::avx512:
            return "avx512";
        case CpuLevel::neon:
            return "neon";
    }
    return "scalar";
}

const std::vector<CpuLevel>& available_cpu_levels() {
    static const std::vector<CpuLevel> levels = find_cpu_levels();
    return levels;
}

CpuLevel selected_cpu_level() {
    const std::vector<CpuLevel>& levels = available_cpu_levels();
    const char* forced = std::getenv("CRAYON_CPU");
    if (forced == nullptr || *forced == '\0') return levels.back();
    std::string names;
    for (CpuLevel level : levels) {
        if (std::string_view(forced) == cpu_level_name(level)) return level;
        names += names.empty() ? "" : ", ";
        names += cpu_level_name(level);
    }
    throw Error(ErrorKind::argument,
                "CRAYON_CPU is \"" + std::string(forced) + "\"; this build and this machine can run: " + names);
}

}  // namespace crayon
