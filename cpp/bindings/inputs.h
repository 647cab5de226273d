// What the arguments of encoding calls say, taken from Python objects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "crayon/batch/batch.h"

namespace crayon::python {

bool replaces_surrogates(const Engine& engine);

// (max_length, stride, strategy, direction), or None.
std::optional<Truncation> truncation_of(const py::object& object);
// (length or None, direction, multiple_of or None, pad_id, pad_type_id, pad_token), or None. The token may be left out.
std::optional<Padding> padding_of(const py::object& object);

EncodeOptions options_of(bool add_special_tokens, bool special_as_text);
EncodeOptions options_of(bool add_special_tokens, bool special_as_text, const py::object& truncation,
                         const py::object& padding);

// A list or tuple as a tuple: items stay alive whatever happens to the list.
py::tuple items_of(py::handle object, const std::string& what);
Sequence sequence_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts);
// One item of a batch: a sequence, or a pair of them.
Input input_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts);
std::vector<Bytes> texts_of(py::handle object, Texts* texts, bool allow_bytes = true);

// A batch of texts where they lie: str are read by threads, in pieces, so that no UTF-8 of them is made and kept.
class TextBatch {
  public:
    // Errors are those of texts_of with bytes allowed. Unless `checks_bytes`, those that are no UTF-8 are none yet: for
    // work that looks itself.
    TextBatch(py::handle object, bool replace_surrogates, bool checks_bytes = true);

    const py::tuple& items() const { return items_; }
    // Calls work(views) without the GIL, and once more if a str has surrogates that are to be replaced.
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
