// Where a text that is split by a published pattern can be cut (crayon/unicode/border.h).
#pragma once

#include "crayon/scan/pattern_families.h"
#include "crayon/unicode/border.h"

namespace crayon {

// Whether a published pattern always begins a pretoken at the border, and pretokens before it do not depend on the text
// after it.
bool family_divides(Family family, Flavor flavor, const Border& border);

}  // namespace crayon
