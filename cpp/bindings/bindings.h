// Shared by the bindings: one function per topic, and the passage of texts and ids between Python and the engine.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crayon/bytes.h"
#include "crayon/encoding.h"
#include "crayon/engine.h"
#include "crayon/truncate_pad.h"

namespace crayon::python {

namespace py = pybind11;

using EngineClass = py::class_<Engine, std::shared_ptr<Engine>>;

void bind_engine(py::module_& m);
void bind_encode(EngineClass& c);
void bind_columns(EngineClass& c);
void bind_trace(py::module_& m, EngineClass& c);
void bind_encoding(py::module_& m);
void bind_stream(py::module_& m);

// An Encoding with the engine that its token strings come from: null when `texts` has all of them.
struct PyEncoding {
    Encoding encoding;
    std::shared_ptr<const Engine> engine;
};

// The strings of ids that `texts` has none for. Lives no longer than `self`.
TokenStringOf strings_of(const PyEncoding& self);
// The encoding with strings of its own unless they are those of `engine` anyway.
Encoding encoding_for(const PyEncoding& encoding, const std::shared_ptr<const Engine>& engine);

// From the names that Python uses; ValueError for others.
Side truncation_side(const std::string& name);
Side padding_side(const std::string& name);
Truncation::Strategy truncation_strategy(const std::string& name);

// Texts taken from Python objects. Keeps a reference to each, so that the bytes live while the GIL is released,
// whatever other threads do to the list they came from.
class Texts {
  public:
    // `replace_surrogates`: lone surrogates become U+FFFD, as in tiktoken; else they raise TypeError, as in tokenizers.
    explicit Texts(bool replace_surrogates) : replace_surrogates_(replace_surrogates) {}

    // `what` names the object in errors ("item 3 of the batch"). Bytes are taken where allowed, and must be UTF-8.
    Bytes add(py::handle object, const std::string& what, bool allow_bytes);

  private:
    bool replace_surrogates_;
    std::vector<py::object> kept_;
};

// Any sequence of ints, or an integer array.
std::vector<int64_t> ids_from(py::handle object);

// A list built from ready-made ints: no object is made for an id that was listed before.
py::list list_of_ids(const int32_t* ids, size_t n);

std::string type_name(py::handle object);

}  // namespace crayon::python
