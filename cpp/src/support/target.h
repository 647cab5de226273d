// The machine that this is compiled for.
#pragma once

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
