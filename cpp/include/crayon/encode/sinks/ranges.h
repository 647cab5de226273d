// Encodes texts that are ranges of one buffer (texts/text_ranges.h).
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/encode/sinks/batch.h"
#include "crayon/engine/engine.h"
#include "crayon/texts/text_view.h"

namespace crayon {

// Ids to append to every text, such as an end-of-text token.
struct Suffix {
    std::vector<int64_t> ids;
    bool after_empty = true;  // whether texts without ids get the suffix, too
};

// encode_ragged (batch.h) for ids of type int32_t, uint32_t or uint16_t. `texts` are bytes. Error(utf8) names the first
// text that is not UTF-8, and its first invalid byte. Error(argument) names an id that is too large for Id.
template <typename Id>
RaggedIds<Id> encode_ranges(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                            const Suffix& suffix, size_t threads);

}  // namespace crayon
