#include "batch/text_tasks.h"

#include <string>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"

namespace crayon {
size_t bytes_of(const std::vector<TextView>& texts) {
    size_t bytes = 0;
    for (const TextView& text : texts) bytes += text.bytes();
    return bytes;
}

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

void encode_task(const Engine& engine, const std::vector<TextView>& texts, const Task& task,
                 const EncodeOptions& options, Utf8Error utf8_error, Utf8Reader* reader, Scratch& scratch,
                 TextIds* out) {
    // Parts begin and end between characters, so the first part with an invalid byte has the text's first invalid byte.
    const auto read = [&](size_t i, size_t from, size_t to) {
        const Bytes text = reader->read(texts[i], from, to);
        if (utf8_error == nullptr || texts[i].width != 0) return text;
        const size_t bad = utf8_error(text.data, text.size);
        if (bad != text.size)
            throw Error(ErrorKind::utf8, "text " + std::to_string(i) + " is not UTF-8: invalid byte at offset " +
                                             std::to_string(from + bad));
        return text;
    };
    for (size_t i = task.begin; i < task.end; ++i) {
        const Bytes text = read(i, task.from, task.is_part ? task.to : texts[i].size);
        engine.encode_ids(text, options, scratch, &out->ids, {task.from == 0, task.is_last});
        out->ends.push_back(out->ids.size());
    }
}

}  // namespace crayon
