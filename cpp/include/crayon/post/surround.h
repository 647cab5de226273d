// The special ids that a post-processor puts around sequences, if it does nothing else to ids.
#pragma once

#include <array>
#include <cstddef>
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

// `before`, A, `after`. For a pair: `before`, A, `between`, B, `after`.
struct Surround {
    std::vector<SpecialId> before, between, after;
    uint32_t type_ids[2] = {0, 1};  // of the tokens of A and of B

    size_t size() const { return before.size() + between.size() + after.size(); }
};

// By add_special_tokens. Without special tokens the lists are empty.
using Surrounds = std::array<Surround, 2>;

}  // namespace crayon
