// Merging of one pretoken that no table has, in the parts that byte_cuts says merging never joins.
#pragma once

#include "engine/segment_encoder.h"

namespace crayon {

// Writes the ids that merging alone makes of `word` to `out`, which has room for one id per byte and kWordIds more;
// returns how many.
size_t merge_parts(const SegmentTables& tables, Bytes word, Scratch& scratch, uint32_t* out);

}  // namespace crayon
