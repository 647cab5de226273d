// The intrinsic functions of AVX-512, for the files that are compiled for it.
#pragma once

// GCC's own header says "undefined" by initializing a variable with itself, and GCC 12 warns of it (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>
