// What happens to encodings after the model, as tokenizers' post-processors do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crayon/encoding.h"

namespace crayon {

// One element of a template: a sequence, or special tokens.
struct TemplatePiece {
    bool is_sequence = false;
    uint32_t sequence = 0;  // 0 (A) or 1 (B), when is_sequence
    uint32_t type_id = 0;
    std::vector<int32_t> ids;  // of the special token, when not is_sequence
};

struct PostProcessStep {
    enum class Kind : uint32_t { byte_level = 1, template_processing = 2, roberta = 3 };
    Kind kind = Kind::byte_level;
    bool add_prefix_space = false;            // byte_level, roberta
    bool trim_offsets = false;                // byte_level, roberta
    int32_t sep = 0, cls = 0;                 // roberta
    std::vector<TemplatePiece> single, pair;  // template_processing
};

struct PostProcessor {
    std::vector<PostProcessStep> steps;  // run in order; none: the reference's default processing
};

// Per token id: white-space characters at the start and at the end of the token's string ('Ġ' or char::is_whitespace),
// for every id that an encoding can hold. Steps that trim offsets need it.
struct TrimInfo {
    const uint16_t* leading = nullptr;
    const uint16_t* trailing = nullptr;
};

// The reference's `post_process`: `pair` may be null. The inputs are consumed; of each, `sequences`, `n_sequences` and
// `ranges` are ignored. A step works on the list of encodings that the step before left, as in the reference, where a
// template makes one of each of its pieces. Error(vocabulary) where the reference panics: a template for other than one
// or two encodings, or one that names a sequence that is not there.
Encoding post_process(const PostProcessor& processor, const TrimInfo& trim, Encoding&& first, Encoding* pair,
                      bool add_special_tokens);

// How many special tokens `post_process` adds.
size_t count_added_tokens(const PostProcessor& processor, bool is_pair);

// The special ids before and after a single sequence, for paths that give ids alone. False when the result is no such
// frame (a template without, or with more than one, sequence A). True says too that without special tokens the sequence
// is left alone.
bool single_special_ids(const PostProcessor& processor, std::vector<int32_t>* prefix, std::vector<int32_t>* suffix);

}  // namespace crayon
