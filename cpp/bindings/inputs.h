// Converts the arguments of encoding calls from Python objects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "crayon/encode/sinks/batch.h"

namespace crayon::python {

bool replaces_surrogates(const Engine& engine);

// Reads (max_length, stride, strategy, direction), or None.
std::optional<Truncation> truncation_of(const py::object& object);
// Reads (length or None, direction, multiple_of or None, pad_id, pad_type_id, pad_token), or None. pad_token may be
// missing.
std::optional<Padding> padding_of(const py::object& object);

EncodeOptions options_of(bool add_special_tokens, bool special_as_text);
EncodeOptions options_of(bool add_special_tokens, bool special_as_text, const py::object& truncation,
                         const py::object& padding);

// Returns a list or tuple as a tuple, which keeps the items alive if the list changes.
py::tuple items_of(py::handle object, const std::string& what);
Sequence sequence_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts);
// Converts one item of a batch: a sequence or a pair.
Input input_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts);
std::vector<Bytes> texts_of(py::handle object, Texts* texts, bool allow_bytes = true);

// A batch of texts, read in place. Threads convert str objects in parts, so their UTF-8 is never stored whole.
class TextBatch {
  public:
    // Raises the errors of texts_of with bytes allowed. Without `checks_bytes`, invalid UTF-8 raises no error here,
    // because the work checks it.
    TextBatch(py::handle object, bool replace_surrogates, bool checks_bytes = true);

    const py::tuple& items() const { return items_; }
    // Calls work(views) without the GIL. If a str has surrogates to replace, replaces them and calls work(views) again.
    template <typename Work>
    void run(Work&& work) {
        try {
            const MaybeRelease release(bytes_);
            work(static_cast<const std::vector<TextView>&>(views_));
            return;
        } catch (const NotUnicode&) {
        }
        replace();
        const py::gil_scoped_release release;
        work(static_cast<const std::vector<TextView>&>(views_));
    }

  private:
    void replace();

    py::tuple items_;
    Texts kept_;
    std::vector<TextView> views_;
    size_t bytes_ = 0;
};

}  // namespace crayon::python
