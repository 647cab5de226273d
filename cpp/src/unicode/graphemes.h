// Extended grapheme clusters (UAX #29), as far as clusters of less than six bytes tell them apart: what is asked of
// them is which of those there are. So regional indicators, four bytes each, are ordinary characters here.
#pragma once

#include <cstdint>

namespace crayon {

// The end of the cluster that begins at p < end.
const uint8_t* cluster_end(const uint8_t* p, const uint8_t* end);

}  // namespace crayon
