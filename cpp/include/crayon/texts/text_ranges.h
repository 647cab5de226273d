// Finds and checks texts that are ranges of one buffer, without an object per text.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/support/bytes.h"
#include "crayon/texts/text_view.h"

namespace crayon {

// The texts data[begins[i], ends[i]) as unchecked UTF-8. Ranges may overlap. Error(argument) names the first range that
// is not inside the data.
std::vector<TextView> texts_of_ranges(Bytes data, const int64_t* begins, const int64_t* ends, size_t n);

// Returns for each text the offset of its first byte that is not valid UTF-8, or -1.
std::vector<int64_t> utf8_errors(const std::vector<TextView>& texts, size_t threads);

struct RangeList {
    std::vector<int64_t> begins, ends;
};

// Splits data at each separator, taking overlapping separators from the left. The text after the last separator is a
// range, too, unless it is empty. Throws Error(argument) for an empty separator.
RangeList split_ranges(Bytes data, Bytes separator, size_t threads);

}  // namespace crayon
