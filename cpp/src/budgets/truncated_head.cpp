#include "crayon/budgets/truncated_head.h"

#include <algorithm>
#include <optional>

#include "batch/task_runner.h"
#include "engine/seams.h"

namespace crayon {
namespace {

// A text is encoded in part if it has at least this many bytes, and a part is at most half of it.
constexpr size_t kLeast = size_t(1) << 12;
// Longer texts are an error, which encoding a part would not report.
constexpr size_t kMost = size_t(1) << 31;

// Returns the text if encoding a part of it suffices, because the rest of the text cannot contain an error. Otherwise
// returns null.
const Bytes* text_to_cut(const Engine& engine, const Input& input, const EncodeOptions& options) {
    if (!options.truncation || options.truncation->side != Side::right || input.is_pair) return nullptr;
    if (input.first.is_pretokenized || engine.is_random() || !engine.impl().takes_any_text) return nullptr;
    const Bytes& text = input.first.parts[0];
    return text.size >= 2 * kLeast && text.size <= kMost ? &text : nullptr;
}

// An encoding of the text's beginning with more tokens than truncation leaves.
std::optional<Encoding> enough_of(const Engine& engine, Bytes text, const EncodeOptions& options, Scratch& scratch) {
    const size_t added = options.add_special_tokens ? engine.special_tokens_added(false) : 0;
    if (added > options.truncation->max_length) return std::nullopt;  // then truncation sets no limit
    const size_t most = options.truncation->max_length - added;
    const Seams& seams = engine.impl().seams.of_encodings(engine, options.special_as_text);
    if (!seams.exist()) return std::nullopt;
    for (size_t size = std::max(kLeast, 8 * std::min(most, text.size)); size <= text.size / 2; size *= 2) {
        const size_t end = seams.before(text, 0, size);
        if (end == 0) continue;
        int32_t words = 0;
        Encoding part = engine.encode_part(text.slice(0, end), options, false, scratch, &words);
        if (part.size() > most) return part;
    }
    return std::nullopt;
}

std::optional<Encoding> front_of(const Engine& engine, const Input& input, const EncodeOptions& options,
                                 Scratch& scratch) {
    const Bytes* const text = text_to_cut(engine, input, options);
    if (text == nullptr) return std::nullopt;
    std::optional<Encoding> part = enough_of(engine, *text, options, scratch);
    if (part) return engine.post_process(std::move(*part), nullptr, options);
    return std::nullopt;
}

}  // namespace

TruncatedHead encode_truncated_head(const Engine& engine, const Input& input, const EncodeOptions& options,
                                    Scratch& scratch) {
    if (std::optional<Encoding> front = front_of(engine, input, options, scratch)) return {std::move(*front), false};
    return {engine.encode(input.first, input.is_pair ? &input.second : nullptr, options, scratch)};
}

std::vector<TruncatedHead> encode_truncated_heads(const Engine& engine, const std::vector<Input>& inputs,
                                                  const EncodeOptions& options, size_t threads) {
    std::vector<TruncatedHead> out(inputs.size());
    std::vector<size_t> cut;
    std::vector<Input> whole;
    size_t bytes = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (const Bytes* const text = text_to_cut(engine, inputs[i], options)) {
            cut.push_back(i);
            bytes += std::min(text->size, 8 * std::min(options.truncation->max_length, text->size));
        }
    }
    run_tasks(engine, cut.size(), thread_count(threads, bytes), [&](size_t t, Scratch& scratch) {
        std::optional<Encoding> front = front_of(engine, inputs[cut[t]], options, scratch);
        out[cut[t]].is_whole = !front.has_value();
        if (front) out[cut[t]].encoding = std::move(*front);
    });
    for (size_t i = 0; i < inputs.size(); ++i)
        if (out[i].is_whole) whole.push_back(inputs[i]);
    std::vector<Encoding> made = encode_batch(engine, whole, options, threads);
    if (whole.size() == inputs.size()) {
        for (size_t i = 0; i < inputs.size(); ++i) out[i].encoding = std::move(made[i]);
        return out;
    }
    std::vector<Encoding> all(inputs.size());
    for (size_t i = 0, next = 0; i < inputs.size(); ++i)
        all[i] = std::move(out[i].is_whole ? made[next++] : out[i].encoding);
    if (options.padding) pad(&all, *options.padding);
    for (size_t i = 0; i < inputs.size(); ++i) out[i].encoding = std::move(all[i]);
    return out;
}

}  // namespace crayon
