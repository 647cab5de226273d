#include "crayon/budgets/budgets.h"

#include <algorithm>
#include <string>

#include "budgets/text_parts.h"
#include "crayon/budgets/text_index.h"
#include "crayon/encode/run/thread_count.h"
#include "crayon/support/error.h"
#include "encode/plan/make_tasks.h"
#include "engine/leased_tasks.h"

namespace crayon {
namespace {

// Returns the size, in units, of the next part to encode until `tokens` tokens are found. Larger parts would be fewer,
// but encode more text than needed.
size_t part_for(size_t tokens) {
    constexpr size_t kLeast = 128, kMost = size_t(1) << 18;
    return std::clamp(2 * std::min(tokens, kMost), kLeast, kMost);
}

size_t count_up_to(const Engine& engine, const TextView& text, const EncodeOptions& options, size_t limit) {
    PartEncoder encoder(engine, options.special_as_text);
    SeamFinder cutter(engine.seams(options.special_as_text), text);
    InterruptWatch interrupts;
    size_t n = options.add_special_tokens ? engine.special_tokens_added(false) : 0;
    while (n <= limit && !cutter.is_done()) {
        const size_t from = cutter.done(), to = cutter.next(part_for(limit - n + 1));
        n += encoder.count(text, from, to, from > 0);
    }
    return std::min(n, limit + 1);
}

}  // namespace

std::vector<int64_t> count_up_to(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                                 size_t limit, size_t threads) {
    std::vector<int64_t> counts(texts.size());
    limit = std::min(limit, size_t(INT64_MAX) - 1);
    // Adds up only as many bytes of each text as are likely to be encoded.
    const auto needed = [&](size_t i) { return std::min(texts[i].bytes(), 8 * std::min(limit, texts[i].bytes())); };
    size_t bytes = 0;
    for (size_t i = 0; i < texts.size(); ++i) bytes += needed(i);
    const std::vector<Task> tasks = make_tasks(texts.size(), needed);
    run_tasks(engine, tasks.size(), thread_count(threads, bytes), [&](size_t t) {
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i)
            counts[i] = int64_t(count_up_to(engine, texts[i], options, limit));
    });
    return counts;
}

size_t truncation_place(const std::shared_ptr<const Engine>& engine, const TextView& text, size_t most, Side cut_off,
                        const EncodeOptions& options) {
    const size_t added = options.add_special_tokens ? engine->special_tokens_added(false) : 0;
    if (added > most)
        throw Error(ErrorKind::argument, "max_tokens is " + std::to_string(most) +
                                             ": the special tokens around a text alone are " + std::to_string(added));
    most -= added;
    if (cut_off == Side::right) {
        TextIndex index(engine, text, options.special_as_text, false);
        return index.grow(most) ? index.longest(0, most) : text.size;
    }
    SeamFinder seams(engine->seams(options.special_as_text), text);
    for (size_t units = std::max(size_t(512), 6 * std::min(most, text.size));; units *= 4) {
        const size_t begin = units < text.size ? seams.previous(0, text.size - units) : 0;
        const TextIndex index(engine, text, options.special_as_text, true, begin);
        if (begin == 0 || index.known_tokens() > most) return index.longest_before(text.size, most);
    }
}

}  // namespace crayon
