// A frame: a post-processor that, as far as ids are concerned, only adds special ids before, between and after
// sequences.
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

// With special tokens: `before`, then A of type `type_id`, then `after`. Without: A of type `bare_type_id`.
struct SingleFrame {
    std::vector<SpecialId> before, after;
    uint32_t type_id = 0, bare_type_id = 0;
};

// With special tokens: `before`, A, `between`, B, `after`.
struct PairFrame {
    std::vector<SpecialId> before, between, after;
    uint32_t type_ids[2] = {0, 1}, bare_type_ids[2] = {0, 1};
};

}  // namespace crayon
