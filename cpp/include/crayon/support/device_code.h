// Marks functions that GPU kernels call as well as the CPU.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define CRAYON_DEVICE __host__ __device__
#else
#define CRAYON_DEVICE
#endif
