#include "batch/text_tasks.h"

#include <string>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "engine/seams.h"

namespace crayon {
size_t seam_before(const Seams& seams, const TextView& text, size_t from, size_t to, Utf8Reader* reader) {
    if (text.width == 0) return seams.before({static_cast<const uint8_t*>(text.data), text.size}, from, to);
    for (const size_t near : {Seams::kNearSeam, Seams::kFarSeam}) {
        const size_t start = to - from > near ? to - near : from;
        const Bytes window = reader->read(text, start, to);
        const size_t at = seams.last_inside(window);
        if (at == 0) continue;
        size_t units = 0;
        for (size_t i = 0; i < at; ++i) units += (window[i] & 0xC0) != 0x80;
        return start + units;
    }
    return from;
}

namespace {

// `seams_for(text)` returns null for a text that should not be cut.
template <typename SeamsFor>
std::vector<TextTask> cut_texts(const std::vector<TextView>& texts, SeamsFor&& seams_for) {
    std::vector<TextTask> tasks;
    Utf8Reader reader;
    size_t begin = 0, bytes = 0;
    const auto close = [&](size_t end) {
        if (begin < end) tasks.push_back({begin, end});
        begin = end;
        bytes = 0;
    };
    for (size_t i = 0; i < texts.size(); ++i) {
        const TextView& text = texts[i];
        const Seams* const seams = text.size >= 2 * kPartUnits ? seams_for(text) : nullptr;
        if (seams != nullptr && seams->exist()) {
            close(i);
            const auto before = [&](size_t from, size_t to) { return seam_before(*seams, text, from, to, &reader); };
            cut_into_parts(text.size, kPartUnits, before, [&](size_t from, size_t to) {
                tasks.push_back({i, i + 1, from, to, true, to == text.size});
            });
            begin = i + 1;
            continue;
        }
        bytes += text.bytes() + 16;
        if (bytes >= kTaskBytes) close(i + 1);
    }
    close(texts.size());
    return tasks;
}

}  // namespace

size_t bytes_of(const std::vector<TextView>& texts) {
    size_t bytes = 0;
    for (const TextView& text : texts) bytes += text.bytes();
    return bytes;
}

std::vector<TextTask> make_text_tasks(const Engine& engine, const std::vector<TextView>& texts,
                                      const EncodeOptions& options, size_t threads) {
    return cut_texts(texts, [&](const TextView& text) -> const Seams* {
        // Cuts a text only if several threads run, or if the text would otherwise be converted whole.
        if (threads == 1 && text.width == 0) return nullptr;
        return &engine.seams(options.special_as_text);
    });
}

std::vector<TextTask> make_word_tasks(const Seams& seams, const std::vector<TextView>& texts) {
    return cut_texts(texts, [&](const TextView&) { return &seams; });
}

void encode_task(const Engine& engine, const std::vector<TextView>& texts, const TextTask& task,
                 const EncodeOptions& options, Utf8Error utf8_error, Utf8Reader* reader, Scratch& scratch,
                 TextIds* out) {
    // Parts begin and end between characters, so the first part with an invalid byte has the text's first one.
    const auto read = [&](size_t i, size_t from, size_t to) {
        const Bytes text = reader->read(texts[i], from, to);
        if (utf8_error == nullptr || texts[i].width != 0) return text;
        const size_t bad = utf8_error(text.data, text.size);
        if (bad != text.size)
            throw Error(ErrorKind::utf8, "text " + std::to_string(i) + " is not UTF-8: invalid byte at offset " +
                                             std::to_string(from + bad));
        return text;
    };
    if (!task.is_part || (task.from == 0 && task.is_last)) {
        for (size_t i = task.begin; i < task.end; ++i) {
            engine.encode_ids(read(i, 0, texts[i].size), options, scratch, &out->ids);
            out->ends.push_back(out->ids.size());
        }
        return;
    }
    const SingleFrame* const frame = engine.single_frame();  // not null, because the text has seams
    const Bytes text = read(task.begin, task.from, task.to);
    if (options.add_special_tokens && task.from == 0) append_ids(frame->before, &out->ids);
    engine.encode_inner_ids(text, options.special_as_text, scratch, &out->ids, task.from > 0);
    if (options.add_special_tokens && task.is_last) append_ids(frame->after, &out->ids);
    out->ends.push_back(out->ids.size());
}

}  // namespace crayon
