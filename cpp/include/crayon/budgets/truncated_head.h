// Encodings that truncation cuts, of no more of a text than that takes.
#pragma once

#include <cstddef>
#include <vector>

#include "crayon/batch/batch.h"
#include "crayon/engine/engine.h"

namespace crayon {

// What Engine::encode gives; unless it `is_whole`, all but the overflowing encodings, for which it takes the whole
// text.
struct TruncatedHead {
    Encoding encoding;
    bool is_whole = true;
};

// A part of the text is enough where truncation cuts the end, of one text whose seams hold for offsets, and where no
// text is an error.
TruncatedHead encode_truncated_head(const Engine& engine, const Input& input, const EncodeOptions& options,
                                    Scratch& scratch);
// The same of many, as encode_batch gives them.
std::vector<TruncatedHead> encode_truncated_heads(const Engine& engine, const std::vector<Input>& inputs,
                                                  const EncodeOptions& options, size_t threads);

}  // namespace crayon
