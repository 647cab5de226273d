// Encodes one part of text (without added tokens) by byte-level tables: the hot path.
#pragma once

#include <vector>

#include "crayon/cartridge/cartridge.h"
#include "crayon/models/longest_match.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "encode/merger/byte_cuts.h"
#include "encode/merger/merge.h"
#include "engine/scratch.h"
#include "models/match_seams.h"

namespace crayon {

struct ByteLevelTables {
    const Cartridge& cartridge;
    const MergeTables& merges;
    const ByteCuts& cuts;
    ScanFunction scan;
    const LongestMatch* match;  // null: merging
    const MatchSeams* seams;    // for longest match over whole texts; may be null
    const WordKernels& kernels;
};

// The start of a pretoken, and the number of its ids.
struct PretokenIds {
    size_t start;
    size_t n_ids;
};

// Appends the ids of `text`. If `pretokens` is not null, replaces it by one record per pretoken.
void encode_scanned(const ByteLevelTables& tables, Bytes text, Scratch& scratch, IdBuffer* out,
                    std::vector<PretokenIds>* pretokens);

// Appends the ids of pieces of `text` that the caller has cut.
void encode_pieces(const ByteLevelTables& tables, Bytes text, const std::vector<Piece>& pieces, Scratch& scratch,
                   IdBuffer* out, std::vector<PretokenIds>* pretokens);

// Encodes all of `data` as one pretoken, by longest match.
void encode_whole(const ByteLevelTables& tables, Bytes data, Scratch& scratch, IdBuffer* out);

}  // namespace crayon
