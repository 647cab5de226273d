// Extended grapheme clusters (UAX #29). Only clusters of less than six bytes matter here, so regional indicators, of
// four bytes each, are treated as ordinary characters.
#pragma once

#include <cstdint>

namespace crayon {

// The end of the cluster that begins at p < end.
const uint8_t* cluster_end(const uint8_t* p, const uint8_t* end);

}  // namespace crayon
