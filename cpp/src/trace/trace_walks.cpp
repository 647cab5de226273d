// Searches for the longest token in the trie, step by step, for WordPiece and for greedy mode.
#include <algorithm>

#include "crayon/support/error.h"
#include "trace/trace_common.h"

namespace crayon {

TraceWalk walk_trie(const DoubleArrayView& trie, const WalkRules& rules, Bytes text, size_t start) {
    TraceWalk walk;
    walk.start = walk.end = start;
    int32_t node = trie.size > 0 ? 0 : -1;
    int32_t match = -1;
    // A token never ends inside an affix. At the text's end it ends only after the suffix.
    const auto step = [&](uint8_t byte, bool can_end, size_t end) {
        if (node < 0) return;
        node = trie.step(node, byte);
        int32_t id = node < 0 || !can_end ? -1 : trie.values[node];
        if (id >= 0 && rules.match != nullptr && rules.match->is_never(id)) id = -1;
        walk.steps.push_back({byte, node, id});
        if (id < 0) return;
        match = id;
        walk.end = end;
    };
    if (start > 0)
        for (const uint8_t byte : Bytes(rules.prefix)) step(byte, false, start);
    walk.prefix = walk.steps.size();
    for (size_t at = start; at < text.size && node >= 0; ++at)
        step(text[at], at + 1 < text.size || rules.suffix.empty(), at + 1);
    const size_t own = walk.steps.size();
    for (size_t i = 0; i < rules.suffix.size() && node >= 0; ++i)
        step(uint8_t(rules.suffix[i]), i + 1 == rules.suffix.size(), text.size);
    walk.suffix = walk.steps.size() - own;
    if (match >= 0) walk.tokens.push_back({uint32_t(match), start, walk.end, TraceToken::Kind::token});
    return walk;
}

std::vector<TraceWalk> walk_piece(const TraceModel& model, Bytes piece) {
    std::vector<TraceWalk> walks;
    const std::string prefix = model.options.continuing_subword_prefix.value_or("");
    const auto begins = [](uint8_t byte) { return (byte & 0xC0) != 0x80; };
    const uint64_t chars = uint64_t(std::count_if(piece.begin(), piece.end(), begins));
    bool is_cut = model.on_bytes || chars <= model.options.max_input_chars_per_word;
    WalkRules rules;
    rules.prefix = prefix;
    for (size_t start = 0; is_cut && start < piece.size; start = walks.back().end) {
        walks.push_back(walk_trie(model.cartridge.trie, rules, piece, start));
        is_cut = !walks.back().tokens.empty();
    }
    if (is_cut) return walks;
    // The whole piece is unknown, so the tokens found before do not count.
    for (TraceWalk& walk : walks) walk.tokens.clear();
    walks.emplace_back();
    walks.back().start = 0;
    walks.back().end = piece.size;
    walks.back().tokens.push_back(model.unknown(0, piece.size));
    return walks;
}

namespace {

bool is_word_piece(const TraceModel& model) {
    return model.options.type == ModelType::word_piece && !model.on_bytes;
}

}  // namespace

std::vector<TraceWalk> trace_longest_match(const Engine& engine, Bytes run) {
    check_exact(engine);
    const TraceModel model(engine);
    std::vector<TraceWalk> walks;
    model.check(run);
    if (is_word_piece(model)) {
        if (!run.empty() && run.size <= kTraceRunBytes) walks = walk_piece(model, run);
        return walks;
    }
    const std::string prefix = model.on_bytes ? "" : model.options.continuing_subword_prefix.value_or("");
    const std::string suffix = model.on_bytes ? "" : model.options.end_of_word_suffix.value_or("");
    const auto greedy = engine.greedy();
    const WalkRules rules{prefix, suffix, &greedy->impl().pipeline.match};
    const bool fuses = model.options.fuses_unknown();
    const bool drops = model.options.type == ModelType::bpe && !model.options.unk_token;
    bool after_unknown = false;
    size_t steps = 0;
    for (size_t start = 0; start < std::min(run.size, kTraceRunBytes) && steps < kTraceSteps;
         start = walks.back().end) {
        walks.push_back(walk_trie(model.cartridge.trie, rules, run, start));
        TraceWalk& walk = walks.back();
        steps += walk.steps.size();
        if (walk.tokens.empty()) {
            walk.end = start + char_size(run, start);
            walk.tokens = model.byte_tokens(run, start, walk.end);
        }
        if (!walk.tokens.empty() || drops) {
            after_unknown = false;
            continue;
        }
        walk.joins_unknown = after_unknown && fuses;
        if (!walk.joins_unknown) walk.tokens.push_back(model.unknown(start, walk.end));
        after_unknown = true;
    }
    return walks;
}

}  // namespace crayon
