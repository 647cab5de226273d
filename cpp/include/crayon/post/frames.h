// A post-processor as far as ids are concerned: special ids at fixed places around the sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/support/id_buffer.h"

namespace crayon {

struct SpecialId {
    int32_t id;
    uint32_t type_id;
};

inline void append_ids(const std::vector<SpecialId>& specials, IdBuffer* out) {
    for (const SpecialId& special : specials) out->push(special.id);
}

// before A after; `types` and the special ids apply with special tokens, `bare_type` without
struct SingleFrame {
    std::vector<SpecialId> before, after;
    uint32_t type_id = 0, bare_type_id = 0;
};

// before A between B after
struct PairFrame {
    std::vector<SpecialId> before, between, after;
    uint32_t type_ids[2] = {0, 1}, bare_type_ids[2] = {0, 1};
};

}  // namespace crayon
