#include "encode/sinks/encode_texts.h"

#include <string>

#include "crayon/support/error.h"

namespace crayon {

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
