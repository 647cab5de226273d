#include "bindings/inputs.h"
#include "crayon/encode/sinks/batch.h"

namespace crayon::python {

bool can_wait(const Engine& engine, const EncodeOptions& options) {
    return engine.surround(false, true) != nullptr && !engine.is_random() && !options.truncation && !options.padding;
}

// Several threads encode a text of at least this many bytes together.
constexpr size_t kLarge = size_t(1) << 19;

void PyEncoding::encode_whole() const {
    Texts texts(replaces_surrogates(*engine_));
    const Bytes bytes = texts.add(text_, "text", false);
    EncodeOptions options;
    options.add_special_tokens = special_;
    options.special_as_text = as_text_;
    options.offsets = offsets_;
    std::optional<Padding> padding;
    if (waiting_ != nullptr) {
        options.truncation = waiting_->truncation;
        padding = waiting_->padding;
    }
    const size_t padded = full_ == nullptr ? 0 : full_->size();  // the length that the batch was padded to
    std::unique_ptr<Encoding> full;
    const std::shared_ptr<const Engine> engine = engine_;
    {
        const MaybeRelease release(bytes.size);
        if (bytes.size < kLarge) {
            const Engine::Lease lease(*engine);
            full = std::make_unique<Encoding>(engine->encode({{bytes}, false}, nullptr, options, *lease));
        } else {
            Input input;
            input.first.parts.push_back(bytes);
            full = std::make_unique<Encoding>(std::move(encode_batch(*engine, {input}, options, 0)[0]));
        }
        if (padding) pad(full.get(), padded_length(padded, *padding), *padding);
    }
    if (full_ != nullptr && waiting_ == nullptr) return;  // another thread has encoded the text meanwhile
    full_ = std::move(full);
    waiting_ = nullptr;
    std::vector<int32_t>().swap(ids_);
    text_ = py::object();
}

PyTypeObject* encoding_type = nullptr;

py::object new_encoding(PyEncoding&& encoding) {
    auto value = std::make_unique<PyEncoding>(std::move(encoding));
    PyObject* const made = py::detail::make_new_instance(encoding_type);
    if (made == nullptr) throw py::error_already_set();
    auto at = reinterpret_cast<py::detail::instance*>(made)->get_value_and_holder();
    at.value_ptr() = value.get();
    new (std::addressof(at.holder<EncodingHolder>())) EncodingHolder(std::move(value));
    at.set_holder_constructed();
    return py::reinterpret_steal<py::object>(made);
}

}  // namespace crayon::python
