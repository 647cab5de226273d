// The kernels of AVX2.
#include "crayon/simd/kernels.h"
#include "support/target.h"

#if CRAYON_X86_64

#include "simd/avx2.h"
#include "simd/json_line.h"
#include "simd/pair_masks.h"
#include "simd/scan_window.h"
#include "simd/utf8_blocks.h"
#include "simd/utf8_check.h"

namespace crayon {

void merge_batch_avx2(const MergeTables& tables, MergeTask* tasks, size_t n);  // in encode/merger, above this folder

const Kernels kAvx2Kernels = {CpuLevel::avx2,
                              scanners_of<Avx2>(),
                              utf8_error_of<Avx2>,
                              utf8_writers_of<Avx2Words, Avx2Longs>(),
                              {},
                              read_json_line<JsonWindowFinder<Window<Avx2, 1>>>,
                              {},
                              kScalarPairs,
                              merge_batch_avx2};

}  // namespace crayon

#endif
