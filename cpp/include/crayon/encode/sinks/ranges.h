// Texts as ranges of one buffer: finds, checks and encodes them without an object per text.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/bytes.h"
#include "crayon/support/id_buffer.h"
#include "crayon/texts/text_view.h"

namespace crayon {

// The texts data[begins[i], ends[i]) as unchecked UTF-8. Ranges may overlap. Error(argument) names the first range that
// is not inside the data.
std::vector<TextView> texts_of_ranges(Bytes data, const int64_t* begins, const int64_t* ends, size_t n);

// Ids to append to every text, such as an end-of-text token.
struct Suffix {
    std::vector<int64_t> ids;
    bool after_empty = true;  // whether texts without ids get the suffix, too
};

template <typename Id>
struct RangeIds {
    GrowingIds<Id> ids;
    std::vector<int64_t> splits;  // one more than texts: text i has ids[splits[i]] to ids[splits[i + 1]]
};

// encode_ragged (batch.h) for ids of type int32_t, uint32_t or uint16_t. `texts` are bytes. Error(utf8) names the first
// text that is not UTF-8, and its first invalid byte. Error(argument) names an id that is too large for Id.
template <typename Id>
RangeIds<Id> encode_ranges(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                           const Suffix& suffix, size_t threads);

// Returns for each text the offset of its first byte that is not valid UTF-8, or -1.
std::vector<int64_t> utf8_errors(const std::vector<TextView>& texts, size_t threads);

struct RangeList {
    std::vector<int64_t> begins, ends;
};

// Splits data at each separator, taking overlapping separators from the left. The text after the last separator is a
// range, too, unless it is empty. Throws Error(argument) for an empty separator.
RangeList split_ranges(Bytes data, Bytes separator, size_t threads);

}  // namespace crayon
