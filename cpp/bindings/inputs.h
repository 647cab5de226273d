// What the arguments of encoding calls say, taken from Python objects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "crayon/batch.h"

namespace crayon::python {

bool replaces_surrogates(const Engine& engine);

// (max_length, stride, strategy, direction), or None.
std::optional<Truncation> truncation_of(const py::object& object);
// (length or None, direction, multiple_of or None, pad_id, pad_type_id, pad_token), or None. The token may be left out.
std::optional<Padding> padding_of(const py::object& object);

// A list or tuple as a tuple: items stay alive whatever happens to the list.
py::tuple items_of(py::handle object, const std::string& what);
Sequence sequence_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts);
// One item of a batch: a sequence, or a pair of them.
Input input_of(py::handle object, bool is_pretokenized, const std::string& what, Texts* texts);
std::vector<Bytes> texts_of(py::handle object, Texts* texts, bool allow_bytes = true);

}  // namespace crayon::python
