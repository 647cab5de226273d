#include "crayon/post/post_process.h"

#include <algorithm>
#include <string>
#include <utility>

#include "crayon/support/error.h"
#include "unicode/byte_level.h"

namespace crayon {
namespace {

using Kind = PostProcessStep::Kind;

// Removes white space that belongs to tokens from their offsets.
void trim_offsets(Encoding* encoding, const TrimInfo& trim, bool add_prefix_space) {
    auto text = encoding->texts.begin();
    const auto texts_end = encoding->texts.end();
    for (size_t i = 0; i < encoding->size(); ++i) {
        while (text != texts_end && size_t(text->index) + text->count <= i) ++text;
        const bool has_own = text != texts_end && text->index <= i;
        const WhiteEnds spaces = has_own ? white_ends(text->text) : trim(uint32_t(encoding->ids[i]));
        Offset& offset = encoding->offsets[i];
        // The first token may have its one space from add_prefix_space, which offsets do not include. Tokens that begin
        // at 0 count as first, because each word of pre-tokenized input begins there.
        const bool was_added = add_prefix_space && spaces.leading == 1 && (i == 0 || offset.start == 0);
        if (spaces.leading > 0 && !was_added) offset.start = std::min(offset.start + spaces.leading, offset.end);
        if (spaces.trailing > 0 && offset.end >= spaces.trailing)
            offset.end = std::max(offset.end - spaces.trailing, offset.start);
    }
}

// Calls act() for an encoding and for its overflowing encodings, but not for the `overflowing` of these.
template <typename Do>
void for_each_part(Encoding* encoding, Do&& act) {
    act(encoding);
    for (Encoding& other : encoding->overflowing) act(&other);
}

void set_type(Encoding* encoding, uint32_t type_id) {
    encoding->type_ids.assign(encoding->size(), type_id);
}

Encoding special_encoding(const std::vector<int32_t>& ids, const std::vector<std::string>& texts, uint32_t type_id) {
    Encoding out;
    out.ids = ids;
    out.type_ids.assign(ids.size(), type_id);
    out.offsets.assign(ids.size(), Offset{0, 0});
    out.words.assign(ids.size(), kNoWord);
    out.special.assign(ids.size(), 1);
    out.attention.assign(ids.size(), 1);
    for (size_t i = 0; i < texts.size(); ++i) out.texts.push_back({uint32_t(i), texts[i]});
    return out;
}

Encoding special_token(int32_t id, const std::optional<std::string>& text, uint32_t type_id) {
    Encoding out = special_encoding({id}, {}, type_id);
    if (text) out.texts.push_back({0, *text});
    return out;
}

Encoding merge(std::vector<Encoding>&& parts) {
    if (parts.size() == 1) return std::move(parts[0]);
    Encoding out;
    size_t size = 0;
    for (const Encoding& part : parts) size += part.size();
    out.ids.reserve(size);
    out.type_ids.reserve(size);
    out.offsets.reserve(size);
    out.words.reserve(size);
    out.special.reserve(size);
    out.attention.reserve(size);
    for (Encoding& part : parts) append(&out, std::move(part));
    return out;
}

// Roberta: <s> A </s>, then </s> B </s> for each further sequence, all of type 0. Bert: [CLS] A [SEP], then B [SEP].
// The encoding inside counts as one sequence; the special tokens around it belong to no sequence.
Encoding framed(const PostProcessStep& step, size_t index, Encoding&& inner) {
    const bool is_bert = step.kind == Kind::bert, is_first = index == 0;
    const uint32_t size = uint32_t(inner.size());
    inner.ranges.clear();
    inner.overflowing.clear();
    inner.special.assign(size, 0);
    inner.attention.assign(size, 1);
    if (!is_bert) set_type(&inner, 0);
    std::vector<Encoding> parts;
    if (is_first)
        parts.push_back(special_token(step.cls, step.cls_text, 0));
    else if (!is_bert)
        parts.push_back(special_token(step.sep, step.sep_text, 0));
    const uint32_t start = uint32_t(parts.size());
    parts.push_back(std::move(inner));
    parts.push_back(special_token(step.sep, step.sep_text, is_bert && !is_first ? 1 : 0));
    Encoding out = merge(std::move(parts));
    out.ranges = {{is_first ? size_t(0) : size_t(1), start, start + size}};
    return out;
}

void frame(const PostProcessStep& step, size_t index, Encoding* encoding) {
    std::vector<Encoding> overflowing = std::move(encoding->overflowing);
    *encoding = framed(step, index, std::move(*encoding));
    for (Encoding& other : overflowing) other = framed(step, index, std::move(other));
    encoding->overflowing = std::move(overflowing);
}

// The template that a step applies to `n_encodings` encodings.
const std::vector<TemplatePiece>& template_for(const PostProcessStep& step, size_t n_encodings) {
    if (n_encodings != 1 && n_encodings != 2)
        throw Error(ErrorKind::vocabulary, "the post-processor has a template for " + std::to_string(n_encodings) +
                                               " parts: only one or two are possible");
    const std::vector<TemplatePiece>& pieces = n_encodings == 1 ? step.single : step.pair;
    for (const TemplatePiece& piece : pieces)
        if (piece.is_sequence && piece.sequence >= n_encodings)
            throw Error(ErrorKind::vocabulary,
                        "the post-processor's template names a sequence that the input does not have");
    return pieces;
}

std::vector<Encoding> apply_template(const PostProcessStep& step, std::vector<Encoding>&& encodings,
                                     bool add_special_tokens) {
    const std::vector<TemplatePiece>& pieces = template_for(step, encodings.size());
    size_t uses_left[2] = {0, 0};
    for (const TemplatePiece& piece : pieces)
        if (piece.is_sequence) ++uses_left[piece.sequence];
    std::vector<Encoding> out;
    for (const TemplatePiece& piece : pieces) {
        if (piece.is_sequence) {
            Encoding& encoding = encodings[piece.sequence];
            set_type(&encoding, piece.type_id);
            set_sequence(&encoding, piece.sequence);
            if (--uses_left[piece.sequence] == 0)
                out.push_back(std::move(encoding));
            else
                out.push_back(encoding);
        } else if (add_special_tokens) {
            out.push_back(special_encoding(piece.ids, piece.texts, piece.type_id));
        }
    }
    return out;
}

void run_step(const PostProcessStep& step, const TrimInfo& trim, bool add_special_tokens,
              std::vector<Encoding>* encodings) {
    if (step.kind == Kind::template_processing) {
        *encodings = apply_template(step, std::move(*encodings), add_special_tokens);
        return;
    }
    for (size_t i = 0; i < encodings->size(); ++i) {
        Encoding& encoding = (*encodings)[i];
        if (step.trim_offsets)
            for_each_part(&encoding, [&](Encoding* part) { trim_offsets(part, trim, step.add_prefix_space); });
        if (step.kind == Kind::byte_level) set_sequence(&encoding, i);
        if (step.kind == Kind::roberta) set_type(&encoding, 0);
        if (step.kind != Kind::byte_level && add_special_tokens) frame(step, i, &encoding);
    }
}

// Placeholder ids that stand for the sequences A and B while run_on_ids finds the special ids around them.
constexpr int32_t kSequences[2] = {-1, -2};

// Sets `out` to the special ids that the post-processor adds. Returns false if it changes ids in another way.
bool run_on_ids(const PostProcessor& processor, bool is_pair, bool add_special_tokens, Surround* out) {
    const size_t n = is_pair ? 2 : 1;
    Encoding inputs[2];
    for (size_t i = 0; i < n; ++i) {
        inputs[i] = special_encoding({kSequences[i]}, {}, uint32_t(i));
        inputs[i].special[0] = 0;
    }
    Encoding made;
    const TrimInfo no_trim = [](uint32_t) { return WhiteEnds{0, 0}; };
    try {
        made =
            post_process(processor, no_trim, std::move(inputs[0]), is_pair ? &inputs[1] : nullptr, add_special_tokens);
    } catch (const Error&) {
        return false;
    }
    std::vector<SpecialId>* const runs[] = {&out->before, is_pair ? &out->between : &out->after, &out->after};
    size_t seen = 0;
    for (size_t i = 0; i < made.size(); ++i) {
        const bool is_sequence = made.ids[i] == kSequences[0] || made.ids[i] == kSequences[1];
        if (is_sequence != (made.special[i] == 0)) return false;
        if (!is_sequence) {
            runs[seen]->push_back({made.ids[i], made.type_ids[i]});
        } else {
            if (seen == n || made.ids[i] != kSequences[seen]) return false;
            out->type_ids[seen++] = made.type_ids[i];
        }
    }
    return seen == n && (add_special_tokens || made.size() == n);
}

}  // namespace

Encoding post_process(const PostProcessor& processor, const TrimInfo& trim, Encoding&& first, Encoding* pair,
                      bool add_special_tokens) {
    std::vector<Encoding> encodings;
    encodings.reserve(2);
    encodings.push_back(std::move(first));
    if (pair != nullptr) encodings.push_back(std::move(*pair));
    if (processor.steps.empty()) {
        // Without a post-processor, Hugging Face tokenizers assigns no sequence to a single input.
        if (pair != nullptr)
            for (size_t i = 0; i < 2; ++i) set_sequence(&encodings[i], i);
        return merge(std::move(encodings));
    }
    for (size_t i = 0; i < encodings.size(); ++i) {
        for_each_part(&encodings[i], [&](Encoding* part) { set_sequence(part, i); });
        set_type(&encodings[i], uint32_t(i));
    }
    for (const PostProcessStep& step : processor.steps) run_step(step, trim, add_special_tokens, &encodings);
    return merge(std::move(encodings));
}

size_t count_added_tokens(const PostProcessor& processor, bool is_pair) {
    size_t count = 0;
    for (const PostProcessStep& step : processor.steps) {
        if (step.kind == Kind::roberta) count += is_pair ? 4 : 2;
        if (step.kind == Kind::bert) count += is_pair ? 3 : 2;
        if (step.kind == Kind::template_processing)
            for (const TemplatePiece& piece : is_pair ? step.pair : step.single) count += piece.ids.size();
    }
    return count;
}

std::optional<Surrounds> surrounds_of(const PostProcessor& processor, bool is_pair) {
    Surrounds out;
    for (const bool special : {false, true})
        if (!run_on_ids(processor, is_pair, special, &out[special])) return std::nullopt;
    return out;
}

void forget_known_texts(PostProcessor* processor,
                        const std::function<std::optional<std::string>(uint32_t id)>& string_of) {
    const auto is_known = [&](int32_t id, const std::string& text) { return string_of(uint32_t(id)) == text; };
    for (PostProcessStep& step : processor->steps) {
        if (step.sep_text && is_known(step.sep, *step.sep_text)) step.sep_text.reset();
        if (step.cls_text && is_known(step.cls, *step.cls_text)) step.cls_text.reset();
        for (auto* pieces : {&step.single, &step.pair})
            for (TemplatePiece& piece : *pieces)
                if (std::equal(piece.ids.begin(), piece.ids.end(), piece.texts.begin(), piece.texts.end(), is_known))
                    piece.texts.clear();
    }
}

}  // namespace crayon
