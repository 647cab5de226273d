// What happens to encodings after the model, as tokenizers' post-processors do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "crayon/post/encoding.h"
#include "crayon/post/frames.h"

namespace crayon {

// One element of a template: a sequence, or special tokens.
struct TemplatePiece {
    bool is_sequence = false;
    uint32_t sequence = 0;  // 0 (A) or 1 (B), when is_sequence
    uint32_t type_id = 0;
    std::vector<int32_t> ids;        // of the special token, when not is_sequence
    std::vector<std::string> texts;  // their strings; none: the vocabulary's
};

struct PostProcessStep {
    enum class Kind : uint32_t { byte_level = 1, template_processing = 2, roberta = 3, bert = 4 };
    Kind kind = Kind::byte_level;
    bool add_prefix_space = false;                  // byte_level, roberta
    bool trim_offsets = false;                      // byte_level, roberta
    int32_t sep = 0, cls = 0;                       // roberta, bert
    std::optional<std::string> sep_text, cls_text;  // their strings; none: the vocabulary's
    std::vector<TemplatePiece> single, pair;        // template_processing
};

struct PostProcessor {
    std::vector<PostProcessStep> steps;  // run in order; none: the reference's default processing
};

// White-space characters at the start and at the end of an id's string ('Ġ' or char::is_whitespace), for every id that
// an encoding can hold. Steps that trim offsets ask for it, of tokens whose text is not their own.
struct WhiteEnds;
using TrimInfo = std::function<WhiteEnds(uint32_t id)>;

// The reference's `post_process`: `pair` may be null. The inputs are consumed; what they have been through before
// stays. A step works on the list of encodings that the step before left, as in the reference, where a template makes
// one of each of its pieces. Error(vocabulary) where the reference panics: a template for other than one or two
// encodings, or one that names a sequence that is not there.
Encoding post_process(const PostProcessor& processor, const TrimInfo& trim, Encoding&& first, Encoding* pair,
                      bool add_special_tokens);

// How many special tokens `post_process` adds.
size_t count_added_tokens(const PostProcessor& processor, bool is_pair);

// What `post_process` does to ids alone; none when that is no such frame (a template without a sequence, or with one
// twice, or with B before A; or special tokens that another step takes for plain ones).
std::optional<SingleFrame> single_frame_of(const PostProcessor& processor);
std::optional<PairFrame> pair_frame_of(const PostProcessor& processor);

// Drops the strings of special tokens that `string_of` gives as well, so that encodings need not hold them.
// `string_of` gives none for an id that the vocabulary does not have.
void forget_known_texts(PostProcessor* processor,
                        const std::function<std::optional<std::string>(uint32_t id)>& string_of);

}  // namespace crayon
