// From one segment of text (no added tokens inside) to ids: the hot path.
#pragma once

#include <vector>

#include "crayon/bytes.h"
#include "crayon/cartridge.h"
#include "crayon/id_buffer.h"
#include "crayon/pretokenize.h"
#include "merge.h"
#include "scratch.h"

namespace crayon {

struct SegmentTables {
    const Cartridge& cartridge;
    const MergeTables& merges;
    ScanFunction scan;
};

// Where a pretoken ended, and how many ids it became.
struct PretokenSpan {
    size_t end;
    size_t n_ids;
};

// Appends the ids of `text`. `spans`, unless null, is replaced by one record per pretoken.
void encode_segment(const SegmentTables& tables, Bytes text, Scratch& scratch, IdBuffer* out,
                    std::vector<PretokenSpan>* spans);

}  // namespace crayon
