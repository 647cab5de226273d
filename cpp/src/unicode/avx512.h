// The intrinsic functions of AVX-512, for files that are compiled for it.
#pragma once

// GCC's own header initializes a variable with itself to mean "undefined", and GCC 12 warns about it (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>
