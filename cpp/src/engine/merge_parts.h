// Merges one pretoken that no table has, in parts that merging never joins (byte_cuts.h).
#pragma once

#include "engine/segment_encoder.h"

namespace crayon {

// Writes the ids that merging gives for `word` to `out`, which needs room for one id per byte and kWordIds more.
// Returns their number.
size_t merge_parts(const SegmentTables& tables, Bytes word, Scratch& scratch, uint32_t* out);

}  // namespace crayon
