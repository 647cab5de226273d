// The kernels of AVX-512.
#include "crayon/simd/kernels.h"
#include "support/target.h"

#if CRAYON_X86_64

#include "simd/avx2.h"
#include "simd/avx512.h"
#include "simd/json_line.h"
#include "simd/pair_masks_avx512.h"
#include "simd/scan_avx512.h"
#include "simd/unit_writers_avx512.h"
#include "simd/utf8_check.h"
#include "simd/utf8_writers_avx512.h"
#include "simd/word_kernels_avx512.h"

namespace crayon {

void merge_batch_avx512(const MergeTables& tables, MergeTask* tasks, size_t n);  // in encode/merger, above this folder

const Kernels kAvx512Kernels = {
    CpuLevel::avx512, scanners_of<Avx512>(), utf8_error_of<Avx512>,
    kUtf8Writers,     kUnitWriters,          read_json_line<JsonWindowFinder<Window<Avx2, 1>>>,
    kWordKernels,     kPlanePairs,           merge_batch_avx512};

}  // namespace crayon

#endif
