// What marks a function that the kernels of a GPU call, too.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define CRAYON_DEVICE __host__ __device__
#else
#define CRAYON_DEVICE
#endif
