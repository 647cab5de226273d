// The steps of tokenizers' post-processors on encodings, after the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "crayon/post/encoding.h"
#include "crayon/post/surround.h"

namespace crayon {

// One element of a template: a sequence, or special tokens.
struct TemplatePiece {
    bool is_sequence = false;
    uint32_t sequence = 0;  // 0 (A) or 1 (B), when is_sequence
    uint32_t type_id = 0;
    std::vector<int32_t> ids;        // of the special token, when not is_sequence
    std::vector<std::string> texts;  // strings of these ids; empty: the vocabulary's strings
};

struct PostProcessStep {
    enum class Kind : uint32_t { byte_level = 1, template_processing = 2, roberta = 3, bert = 4 };
    Kind kind = Kind::byte_level;
    bool add_prefix_space = false;                  // byte_level, roberta
    bool trim_offsets = false;                      // byte_level, roberta
    int32_t sep = 0, cls = 0;                       // roberta, bert
    std::optional<std::string> sep_text, cls_text;  // strings of sep and cls; none: the vocabulary's strings
    std::vector<TemplatePiece> single, pair;        // template_processing
};

struct PostProcessor {
    std::vector<PostProcessStep> steps;  // in order; empty: the reference's default processing
};

// The white-space characters ('Ġ' or char::is_whitespace) at the start and the end of an id's string. Must answer for
// every id in an encoding. Steps that trim offsets use it for tokens without a text of their own.
struct WhiteEnds;
using TrimInfo = std::function<WhiteEnds(uint32_t id)>;

// The reference's `post_process`; `pair` may be null. Consumes the inputs. As in the reference, a step works on the
// list of encodings that the previous step returned, and a template returns one for each of its pieces. Throws
// Error(vocabulary) where the reference panics: at a template for more than two encodings, or at one that lacks a
// sequence.
Encoding post_process(const PostProcessor& processor, const TrimInfo& trim, Encoding&& first, Encoding* pair,
                      bool add_special_tokens);

// How many special tokens `post_process` adds.
size_t count_added_tokens(const PostProcessor& processor, bool is_pair);

// Returns the effect of `post_process` on ids, if it only surrounds sequences. Returns nothing for a template that
// lacks a sequence, repeats one, or puts B before A, or if a step treats another step's special tokens as plain ones.
std::optional<Surrounds> surrounds_of(const PostProcessor& processor, bool is_pair);

// Drops the strings of special tokens that equal the vocabulary's (`string_of`), so that encodings need not hold them.
// `string_of` returns none for an unknown id.
void forget_known_texts(PostProcessor* processor,
                        const std::function<std::optional<std::string>(uint32_t id)>& string_of);

}  // namespace crayon
