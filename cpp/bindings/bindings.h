// Shared by the bindings: one function per topic, and the passage of texts and ids between Python and the engine.
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

#include "crayon/batch/text_view.h"
#include "crayon/engine/engine.h"
#include "crayon/post/encoding.h"
#include "crayon/post/truncate_pad.h"
#include "crayon/support/bytes.h"

namespace crayon::python {

namespace py = pybind11;

using EngineClass = py::class_<Engine, std::shared_ptr<Engine>>;

void bind_engine(py::module_& m);
void bind_encode(EngineClass& c);
void bind_columns(EngineClass& c);
void bind_quick(py::module_& m, EngineClass& c);
void bind_tokens(EngineClass& c);
void bind_model_vocabulary(EngineClass& c);
void bind_spans(py::module_& m, EngineClass& c);
void bind_budgets(py::module_& m, EngineClass& c);
void bind_trace(py::module_& m, EngineClass& c);
void bind_encoding(py::module_& m);
void bind_stream(py::module_& m);
void bind_decode_stream(py::module_& m);
void bind_word_counter(py::module_& m);
void bind_train(py::module_& m);
void bind_json_lines(py::module_& m);
void bind_device(py::module_& m);
void bind_files(py::module_& m);

// An Encoding with the engine that its token strings come from: null when `texts` has all of them. One that was made
// with ids alone encodes its text again, whole, when anything else is asked for; one that was truncated, when what
// overflows is. Used under the GIL, or where there is
// none under the lock of the Python object, which is lost, like the GIL, while a text is encoded.
class PyEncoding {
  public:
    PyEncoding() : full_(std::make_unique<Encoding>()) {}
    PyEncoding(Encoding encoding, std::shared_ptr<const Engine> engine)
        : engine_(std::move(engine)), full_(std::make_unique<Encoding>(std::move(encoding))) {}
    // `text` is a str, `ids` what engine->encode(text, options) has. For engines that are not random.
    PyEncoding(std::vector<int32_t>&& ids, py::object text, const EncodeOptions& options,
               std::shared_ptr<const Engine> engine)
        : engine_(std::move(engine)),
          ids_(std::move(ids)),
          text_(std::move(text)),
          special_(options.add_special_tokens),
          as_text_(options.special_as_text),
          offsets_(options.offsets) {}
    // The front of what engine->encode(text, options) has, all but what overflows.
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
    // All but what overflows.
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
    mutable std::unique_ptr<EncodeOptions> waiting_;  // what full_ was made with, while what overflows is missing
    bool special_ = true, as_text_ = false, offsets_ = true;
};

using EncodingHolder = std::unique_ptr<PyEncoding>;
using EncodingClass = py::class_<PyEncoding, EncodingHolder>;
// The type Encoding, set when the module is made.
extern PyTypeObject* encoding_type;
// An Encoding object. Quicker than py::cast, which also enters the address where casts of pointers look for objects.
py::object new_encoding(PyEncoding&& encoding);

// Whether an engine's encodings may be made with ids alone.
bool can_wait(const Engine& engine, const EncodeOptions& options);

py::list ids_of(const PyEncoding& self);
// The strings of ids that `texts` has none for. Lives no longer than `self`.
TokenStringOf strings_of(const PyEncoding& self);
// The encoding in a Python object, with strings of its own unless `engine` has the same. TypeError for other objects.
Encoding encoding_for(py::handle encoding, const std::shared_ptr<const Engine>& engine);

// From the names that Python uses; ValueError for others.
Side truncation_side(const std::string& name);
Side padding_side(const std::string& name);
Truncation::Strategy truncation_strategy(const std::string& name);

// Releases the GIL for work on so many bytes, unless the work is shorter than taking the GIL back: beside a busy Python
// thread that takes 5 ms.
class MaybeRelease {
  public:
    static constexpr size_t kSmall = size_t(1) << 16;

    explicit MaybeRelease(size_t bytes) {
        if (bytes > kSmall) release_.emplace();
    }

  private:
    std::optional<py::gil_scoped_release> release_;
};

// Holds off the cyclic collector while many containers are made that are no cycle: it would go through all of them
// again and again (until Python 3.12 in the midst of the making).
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

// For a long loop under the GIL, which calls it with each index: signals are handled now and then, and other threads of
// Python get their turn, so what the loop reads must be its own. The collector may be held off but for their turns.
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

// Texts taken from Python objects. Keeps a reference to each, so that the bytes live while the GIL is released,
// whatever other threads do to the list they came from.
class Texts {
  public:
    // `replace_surrogates`: lone surrogates become U+FFFD, as in tiktoken; else they raise TypeError, as in tokenizers.
    explicit Texts(bool replace_surrogates) : replace_surrogates_(replace_surrogates) {}

    // `what` names the object in errors ("item 3 of the batch"). Bytes are taken where allowed, and must be UTF-8.
    Bytes add(py::handle object, const std::string& what, bool allow_bytes);
    // The same of the usual kinds, for which no name is needed; false for others, and for what is an error.
    bool add_usual(py::handle object, Bytes* out);

  private:
    bool replace_surrogates_;
    std::vector<py::object> kept_;
};

// Ids taken from Python objects.
struct Ids {
    std::unique_ptr<int64_t[]> owned;
    py::object array;  // that owns them otherwise
    IdView view;
};
// Any sequence of ints, or an integer array.
Ids ids_from(py::handle object);

// Where a str has its text: in UTF-8 if it has that, else by characters.
TextView view_of(PyObject* text);
// The str of decoded text, and of UTF-8; a UnicodeDecodeError for what is none.
py::str str_of(const DecodedText& text);
py::str str_of(Bytes utf8);

// A list built from ready-made ints: no object is made for an id that was listed before.
py::list list_of_ids(const int32_t* ids, size_t n);

// The path that a str, bytes or an os.PathLike names, as the system has it: it need not be UTF-8.
std::string path_from(const py::object& path);

std::string type_name(py::handle object);

// For a long loop under the GIL, which calls it with each index: signals are handled now and then.
inline void handle_signals(size_t i) {
    if (i % 512 == 511 && PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace crayon::python
