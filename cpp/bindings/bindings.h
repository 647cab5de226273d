// Shared by the bindings: one binding function per topic, and conversions of texts and ids between Python and C++.
#pragma once

#include <pybind11/critical_section.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/post/encoding.h"
#include "crayon/post/truncate_pad.h"
#include "crayon/support/bytes.h"
#include "crayon/texts/text_view.h"

namespace crayon::python {

namespace py = pybind11;

using EngineClass = py::class_<Engine, std::shared_ptr<Engine>>;

void bind_engine(py::module_& m);
void bind_encode(EngineClass& c);
void bind_columns(EngineClass& c);
void bind_quick(py::module_& m, EngineClass& c);
void bind_tokens(EngineClass& c);
void bind_model_vocabulary(EngineClass& c);
void bind_ranges(py::module_& m, EngineClass& c);
void bind_budgets(py::module_& m, EngineClass& c);
void bind_trace(py::module_& m, EngineClass& c);
void bind_encoding(py::module_& m);
void bind_stream(py::module_& m);
void bind_decode_stream(py::module_& m);
void bind_word_counter(py::module_& m);
void bind_train(py::module_& m);
void bind_surgery(py::module_& m);
void bind_json_lines(py::module_& m);
void bind_device(py::module_& m);
void bind_files(py::module_& m);

// An Encoding, and the engine that gives its token strings. The engine is null if the Encoding's `texts` has all
// strings.
//
// An Encoding may hold ids alone. It encodes its whole text again when another field is read. A truncated Encoding does
// so when `overflowing` is read. Use a PyEncoding under the GIL or, on free-threaded CPython, under the lock of its
// Python object. The GIL and the lock are released while the text is encoded.
class PyEncoding {
  public:
    PyEncoding() : full_(std::make_unique<Encoding>()) {}
    PyEncoding(Encoding encoding, std::shared_ptr<const Engine> engine)
        : engine_(std::move(engine)), full_(std::make_unique<Encoding>(std::move(encoding))) {}
    // `text` is a str, and `ids` are the ids of engine->encode(text, options). Only for engines without dropout.
    PyEncoding(std::vector<int32_t>&& ids, py::object text, const EncodeOptions& options,
               std::shared_ptr<const Engine> engine)
        : engine_(std::move(engine)),
          ids_(std::move(ids)),
          text_(std::move(text)),
          special_(options.add_special_tokens),
          as_text_(options.special_as_text),
          offsets_(options.offsets) {}
    // `front` is engine->encode(text, options) without its overflowing encodings.
    PyEncoding(Encoding front, py::object text, const EncodeOptions& options, std::shared_ptr<const Engine> engine)
        : PyEncoding(std::vector<int32_t>(), std::move(text), options, std::move(engine)) {
        full_ = std::make_unique<Encoding>(std::move(front));
        waiting_ = std::make_unique<EncodeOptions>(options);
    }
    PyEncoding(PyEncoding&&) = default;
    PyEncoding& operator=(PyEncoding&&) = default;
    PyEncoding(const PyEncoding& other) : PyEncoding(Encoding(other.encoding()), other.engine_) {}

    const std::shared_ptr<const Engine>& engine() const { return engine_; }
    const std::vector<int32_t>& ids() const { return full_ == nullptr ? ids_ : full_->ids; }
    const Encoding& encoding() const {
        if (full_ == nullptr || waiting_ != nullptr) encode_whole();
        return *full_;
    }
    Encoding& encoding() {
        if (full_ == nullptr || waiting_ != nullptr) encode_whole();
        return *full_;
    }
    // The encoding; its `overflowing` may be missing.
    const Encoding& front() const {
        if (full_ == nullptr) encode_whole();
        return *full_;
    }

  private:
    void encode_whole() const;

    std::shared_ptr<const Engine> engine_;
    mutable std::vector<int32_t> ids_;
    mutable py::object text_;
    mutable std::unique_ptr<Encoding> full_;
    mutable std::unique_ptr<EncodeOptions> waiting_;  // the options for encoding the whole text, while full_ lacks
                                                      // `overflowing`
    bool special_ = true, as_text_ = false, offsets_ = true;
};

using EncodingHolder = std::unique_ptr<PyEncoding>;
using EncodingClass = py::class_<PyEncoding, EncodingHolder>;
// The Python type Encoding, set at module initialization.
extern PyTypeObject* encoding_type;
// Makes an Encoding object. Faster than py::cast, which also registers its address for casts of pointers.
py::object new_encoding(PyEncoding&& encoding);

// Whether PyEncodings may be made with ids alone, and encode their text again when another field is read.
bool can_wait(const Engine& engine, const EncodeOptions& options);

py::list ids_of(const PyEncoding& self);
// Returns a function that gives the strings of ids without one in `texts`. The function must not outlive `self`.
TokenStringOf strings_of(const PyEncoding& self);
// Copies the Encoding out of a Python object. Writes its token strings to the copy unless `engine` gives the same
// strings. Raises TypeError for an object of another type.
Encoding encoding_for(py::handle encoding, const std::shared_ptr<const Engine>& engine);

// Returns the side with this name in Python. Raises ValueError for another name.
Side truncation_side(const std::string& name);
Side padding_side(const std::string& name);
Truncation::Strategy truncation_strategy(const std::string& name);

// Releases the GIL during work on `bytes` bytes. Keeps the GIL for small work, because taking the GIL back takes 5 ms
// while another Python thread is busy.
class MaybeRelease {
  public:
    static constexpr size_t kSmall = size_t(1) << 16;

    explicit MaybeRelease(size_t bytes) {
        if (bytes > kSmall) release_.emplace();
    }

  private:
    std::optional<py::gil_scoped_release> release_;
};

// Pauses Python's cyclic garbage collector while many containers without cycles are made. The collector would traverse
// all of them repeatedly (before Python 3.12 even during the allocations).
class CollectorPause {
  public:
    CollectorPause() : was_on_(PyGC_Disable() != 0) {}
    ~CollectorPause() {
        if (was_on_) PyGC_Enable();
    }
    CollectorPause(const CollectorPause&) = delete;

  private:
    const bool was_on_;
};

// For a long loop under the GIL, which calls the GilYield with each index. Some calls handle signals and let other
// Python threads run, so the loop must own the data that it reads. With `pauses_collector` the garbage collector is off
// except during those calls.
class GilYield {
  public:
    explicit GilYield(bool pauses_collector = false) {
        if (pauses_collector) pause_.emplace();
    }
    void pass(size_t i) {
        if (i % 512 != 511) return;
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (std::chrono::steady_clock::now() - since_ < std::chrono::milliseconds(20)) return;
        const bool pauses_collector = pause_.has_value();
        pause_.reset();
        { const py::gil_scoped_release release; }
        if (pauses_collector) pause_.emplace();
        since_ = std::chrono::steady_clock::now();
    }

  private:
    std::optional<CollectorPause> pause_;
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Texts taken from Python objects. Holds a reference to each object, so that the bytes stay valid without the GIL, even
// if other threads change the list that held them.
class Texts {
  public:
    // With `replace_surrogates`, lone surrogates become U+FFFD, as in tiktoken. Otherwise a lone surrogate raises
    // TypeError, as in tokenizers.
    explicit Texts(bool replace_surrogates) : replace_surrogates_(replace_surrogates) {}

    // `what` names the object in errors ("item 3 of the batch"). With `allow_bytes` the object may also be bytes, which
    // must be UTF-8.
    Bytes add(py::handle object, const std::string& what, bool allow_bytes);
    // Does what add() does for common types. Returns false for other types and for invalid texts.
    bool add_usual(py::handle object, Bytes* out);

  private:
    bool replace_surrogates_;
    std::vector<py::object> kept_;
};

// Ids taken from Python objects.
struct Ids {
    std::unique_ptr<int64_t[]> owned;
    py::object array;  // owns the ids unless `owned` does
    IdView view;
};
// Takes ids from any sequence of ints, or from an integer array.
Ids ids_from(py::handle object);

// Returns a view of the text of a str: of its UTF-8 if CPython has cached it, else of its code points.
TextView view_of(PyObject* text);
// Returns decoded text, or UTF-8, as a str. Invalid UTF-8 raises UnicodeDecodeError.
py::str str_of(const DecodedText& text);
py::str str_of(Bytes utf8);

// Returns a list of ints. Lists share the int objects, so an id that was listed before needs no new object.
py::list list_of_ids(const int32_t* ids, size_t n);

// Returns the path that a str, bytes or os.PathLike names, in the file system's encoding, which may differ from UTF-8.
std::string path_from(const py::object& path);

std::string type_name(py::handle object);

// For a long loop under the GIL, which calls this with each index. Some calls handle signals.
inline void handle_signals(size_t i) {
    if (i % 512 == 511 && PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace crayon::python
