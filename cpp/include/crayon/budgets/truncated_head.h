// Encodings with truncation that encode only as much of a text as truncation keeps.
#pragma once

#include <cstddef>
#include <vector>

#include "crayon/batch/batch.h"
#include "crayon/engine/engine.h"

namespace crayon {

// The result of Engine::encode. Unless `is_whole`, the result lacks the overflowing encodings, which need the whole
// text.
struct TruncatedHead {
    Encoding encoding;
    bool is_whole = true;
};

// Encodes only a head of the text if truncation cuts the end of a single text, the engine's seams hold for offsets, and
// encoding cannot fail. Otherwise encodes the whole text.
TruncatedHead encode_truncated_head(const Engine& engine, const Input& input, const EncodeOptions& options,
                                    Scratch& scratch);
// Encodes the heads of a batch. Results are in the order of encode_batch.
std::vector<TruncatedHead> encode_truncated_heads(const Engine& engine, const std::vector<Input>& inputs,
                                                  const EncodeOptions& options, size_t threads);

}  // namespace crayon
