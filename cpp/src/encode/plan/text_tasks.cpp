#include "encode/plan/text_tasks.h"

#include <optional>

namespace crayon {
namespace {

// `seams_of(text)` returns null for a text that should not be cut.
template <typename SeamsOf>
std::vector<Task> cut_texts(const std::vector<TextView>& texts, SeamsOf&& seams_of) {
    return make_tasks(
        texts.size(), [&](size_t i) { return texts[i].bytes(); },
        [&](size_t i) -> std::optional<SeamFinder> {
            const Seams* const seams = texts[i].size >= 2 * kPartUnits ? seams_of(texts[i]) : nullptr;
            if (seams == nullptr || !seams->exist()) return std::nullopt;
            return SeamFinder(*seams, texts[i]);
        });
}

}  // namespace

std::vector<Task> make_text_tasks(const Engine& engine, const std::vector<TextView>& texts,
                                  const EncodeOptions& options, size_t threads) {
    return cut_texts(texts, [&](const TextView& text) -> const Seams* {
        // Cuts a text only if several threads run, or if the text would otherwise be converted whole.
        if (threads == 1 && text.width == 0) return nullptr;
        return &engine.seams(options.special_as_text);
    });
}

std::vector<Task> make_word_tasks(const Seams& seams, const std::vector<TextView>& texts) {
    return cut_texts(texts, [&](const TextView&) { return &seams; });
}

}  // namespace crayon
