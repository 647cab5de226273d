// The kernels of NEON, which every AArch64 has.
#include "crayon/simd/kernels.h"
#include "support/target.h"

#if CRAYON_AARCH64

#include "simd/json_line.h"
#include "simd/neon.h"
#include "simd/pair_masks.h"
#include "simd/scan_window.h"
#include "simd/utf8_blocks.h"
#include "simd/utf8_check.h"

namespace crayon {

const Kernels kNeonKernels = {CpuLevel::neon,
                              scanners_of<Neon>(),
                              utf8_error_of<Neon>,
                              utf8_writers_of<NeonWords, NeonLongs>(),
                              {},
                              read_json_line<JsonWindowFinder<Window<Neon>>>,
                              {},
                              kScalarPairs,
                              nullptr};

}  // namespace crayon

#endif
