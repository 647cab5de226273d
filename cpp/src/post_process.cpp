#include "crayon/post_process.h"

#include <algorithm>
#include <string>
#include <utility>

#include "byte_level.h"
#include "crayon/error.h"

namespace crayon {
namespace {

using Kind = PostProcessStep::Kind;

// Takes white space that belongs to tokens out of their offsets.
void trim_offsets(Encoding* encoding, const TrimInfo& trim, bool add_prefix_space) {
    auto text = encoding->texts.begin();
    for (size_t i = 0; i < encoding->size(); ++i) {
        const size_t id = size_t(encoding->ids[i]);
        WhiteEnds spaces{trim.leading[id], trim.trailing[id]};
        if (text != encoding->texts.end() && text->index == i) spaces = white_ends((text++)->text);
        Offset& offset = encoding->offsets[i];
        // The first token may owe its one space to add_prefix_space, and then its offsets do not have it. Tokens that
        // begin at 0 count as first, because each word of pre-tokenized input begins there.
        const bool was_added = add_prefix_space && spaces.leading == 1 && (i == 0 || offset.start == 0);
        if (!was_added) offset.start = std::min(offset.start + spaces.leading, offset.end);
        if (offset.end >= spaces.trailing) offset.end = std::max(offset.end - spaces.trailing, offset.start);
    }
}

Encoding special_encoding(const std::vector<int32_t>& ids, uint32_t type_id) {
    Encoding out;
    out.ids = ids;
    out.type_ids.assign(ids.size(), type_id);
    out.offsets.assign(ids.size(), Offset{0, 0});
    out.words.assign(ids.size(), kNoWord);
    out.special.assign(ids.size(), 1);
    out.attention.assign(ids.size(), 1);
    return out;
}

void set_type(Encoding* encoding, uint32_t type_id) {
    encoding->type_ids.assign(encoding->size(), type_id);
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

// <s> A </s>, and </s> B </s> for whatever else there is; everything inside counts as one sequence without specials.
Encoding roberta_frame(const PostProcessStep& step, size_t index, Encoding&& inner) {
    const uint32_t size = uint32_t(inner.size());
    inner.ranges.clear();
    inner.special.assign(size, 0);
    inner.attention.assign(size, 1);
    std::vector<Encoding> parts(3);
    parts[0] = special_encoding({index == 0 ? step.cls : step.sep}, 0);
    parts[1] = std::move(inner);
    parts[2] = special_encoding({step.sep}, 0);
    Encoding out = merge(std::move(parts));
    out.ranges = {{index == 0 ? 0u : 1u, 1, size + 1}};
    return out;
}

// The template that a step applies to so many encodings.
const std::vector<TemplatePiece>& template_for(const PostProcessStep& step, size_t n_encodings) {
    if (n_encodings != 1 && n_encodings != 2)
        throw Error(ErrorKind::vocabulary, "the post-processor has a template for " + std::to_string(n_encodings) +
                                               " parts: the reference has none for other than one or two");
    const std::vector<TemplatePiece>& pieces = n_encodings == 1 ? step.single : step.pair;
    for (const TemplatePiece& piece : pieces)
        if (piece.is_sequence && piece.sequence >= n_encodings)
            throw Error(ErrorKind::vocabulary, "the post-processor's template names a sequence that is not there");
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
            out.push_back(special_encoding(piece.ids, piece.type_id));
        }
    }
    return out;
}

// The ids that a post-processor makes around a single sequence, which is kSequence here.
constexpr int32_t kSequence = -1;

bool run_on_ids(const PostProcessor& processor, bool add_special_tokens, std::vector<int32_t>* out) {
    std::vector<std::vector<int32_t>> parts{{kSequence}};
    for (const PostProcessStep& step : processor.steps) {
        std::vector<std::vector<int32_t>> next;
        if (step.kind == Kind::roberta && add_special_tokens) {
            for (std::vector<int32_t>& part : parts) {
                part.insert(part.begin(), next.empty() ? step.cls : step.sep);
                part.push_back(step.sep);
                next.push_back(std::move(part));
            }
            parts = std::move(next);
        } else if (step.kind == Kind::template_processing) {
            if (parts.size() != 1 && parts.size() != 2) return false;
            for (const TemplatePiece& piece : parts.size() == 1 ? step.single : step.pair) {
                if (piece.is_sequence && piece.sequence >= parts.size()) return false;
                if (piece.is_sequence)
                    next.push_back(parts[piece.sequence]);
                else if (add_special_tokens)
                    next.push_back(piece.ids);
            }
            parts = std::move(next);
        }
    }
    out->clear();
    for (const std::vector<int32_t>& part : parts) out->insert(out->end(), part.begin(), part.end());
    return std::count(out->begin(), out->end(), kSequence) == 1;
}

}  // namespace

Encoding post_process(const PostProcessor& processor, const TrimInfo& trim, Encoding&& first, Encoding* pair,
                      bool add_special_tokens) {
    std::vector<Encoding> encodings;
    encodings.reserve(2);
    encodings.push_back(std::move(first));
    if (pair != nullptr) encodings.push_back(std::move(*pair));
    for (uint32_t i = 0; i < encodings.size(); ++i) {
        encodings[i].ranges.clear();
        // Without any processor the reference leaves a single sequence unnamed.
        if (!processor.steps.empty() || pair != nullptr) set_sequence(&encodings[i], i);
        set_type(&encodings[i], i);
    }
    for (const PostProcessStep& step : processor.steps) {
        const bool trims = step.kind != Kind::template_processing && step.trim_offsets;
        for (uint32_t i = 0; i < encodings.size(); ++i) {
            if (trims) trim_offsets(&encodings[i], trim, step.add_prefix_space);
            if (step.kind == Kind::byte_level) set_sequence(&encodings[i], i);
            if (step.kind == Kind::roberta) set_type(&encodings[i], 0);
            if (step.kind == Kind::roberta && add_special_tokens)
                encodings[i] = roberta_frame(step, i, std::move(encodings[i]));
        }
        if (step.kind == Kind::template_processing)
            encodings = apply_template(step, std::move(encodings), add_special_tokens);
    }
    Encoding out = merge(std::move(encodings));
    update_sequences(&out);
    return out;
}

size_t count_added_tokens(const PostProcessor& processor, bool is_pair) {
    size_t count = 0;
    for (const PostProcessStep& step : processor.steps) {
        if (step.kind == Kind::roberta) count += is_pair ? 4 : 2;
        if (step.kind == Kind::template_processing)
            for (const TemplatePiece& piece : is_pair ? step.pair : step.single) count += piece.ids.size();
    }
    return count;
}

bool single_special_ids(const PostProcessor& processor, std::vector<int32_t>* prefix, std::vector<int32_t>* suffix) {
    std::vector<int32_t> framed, bare;
    prefix->clear();
    suffix->clear();
    if (!run_on_ids(processor, false, &bare) || bare.size() != 1) return false;
    if (!run_on_ids(processor, true, &framed)) return false;
    const auto sequence = std::find(framed.begin(), framed.end(), kSequence);
    prefix->assign(framed.begin(), sequence);
    suffix->assign(sequence + 1, framed.end());
    return true;
}

}  // namespace crayon
