// Binds the encoding methods of Engine.
#include <pybind11/stl.h>

#include "bindings/arrays.h"
#include "bindings/inputs.h"
#include "crayon/encode/sinks/batch.h"

namespace crayon::python {
namespace {

using EnginePtr = std::shared_ptr<const Engine>;

// Calls take(text, ids, count) with all ids of each text, under the GIL.
template <typename Take>
class TextTaker {
  public:
    explicit TextTaker(const Take& take) : take_(take) {}
    // Returns whether another thread held the GIL for long.
    bool operator()(const std::vector<ReadyIds>& ready) {
        const auto before = std::chrono::steady_clock::now();
        const py::gil_scoped_acquire acquire;
        const bool was_long = std::chrono::steady_clock::now() - before > std::chrono::milliseconds(1);
        const CollectorPause pause;
        for (const ReadyIds& part : ready) {
            if (part.is_last && parts_.empty()) {
                take_(part.text, part.ids, part.size);
                continue;
            }
            parts_.insert(parts_.end(), part.ids, part.ids + part.size);
            if (!part.is_last) continue;
            take_(part.text, parts_.data(), parts_.size());
            std::vector<int32_t>().swap(parts_);
        }
        return was_long;
    }

  private:
    const Take& take_;
    std::vector<int32_t> parts_;
};

size_t bytes_of(const Sequence& sequence) {
    size_t bytes = 64;
    for (const Bytes& part : sequence.parts) bytes += part.size + 64;
    return bytes;
}

bool are_texts(const py::tuple& items) {
    for (size_t i = 0; i < items.size(); ++i)
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(items.ptr(), py::ssize_t(i)))) return false;
    return true;
}

// Returns a batch of Encodings that hold ids alone (PyEncoding).
py::list waiting_encodings(const EnginePtr& self, const py::tuple& items, const EncodeOptions& options,
                           size_t threads) {
    TextBatch batch(items, replaces_surrogates(*self));
    py::list out;
    batch.run([&](const std::vector<TextView>& views) {
        const auto take = [&](size_t i, const int32_t* ids, size_t n) {
            const auto text = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(items.ptr(), py::ssize_t(i)));
            py::object encoding = new_encoding(PyEncoding(std::vector<int32_t>(ids, ids + n), text, options, self));
            PyList_SET_ITEM(out.ptr(), py::ssize_t(i), encoding.release().ptr());
        };
        {
            const py::gil_scoped_acquire acquire;
            out = py::list(views.size());
        }
        encode_each(*self, views, options, threads, TextTaker(take));
    });
    return out;
}

PyEncoding encoding_of(Encoding&& encoding, const py::object& text, const EncodeOptions& options,
                       const EnginePtr& engine) {
    if (encoding.is_cut) return PyEncoding(std::move(encoding), text, options, engine);
    return PyEncoding(std::move(encoding), engine);
}

}  // namespace

void bind_encode(EngineClass& c) {
    c.def(
        "encode",
        [](const EnginePtr& self, py::object sequence, py::object pair, bool is_pretokenized, bool special,
           bool as_text, const py::object& truncation, const py::object& padding) {
            Texts texts(replaces_surrogates(*self));
            Input input;
            input.first = sequence_of(sequence, is_pretokenized, "sequence", &texts);
            input.is_pair = !pair.is_none();
            if (input.is_pair) input.second = sequence_of(pair, is_pretokenized, "pair", &texts);
            EncodeOptions options = options_of(special, as_text, truncation, padding);
            options.overflow = false;
            Encoding encoding;
            {
                const MaybeRelease release(bytes_of(input.first) + bytes_of(input.second));
                const Engine::Lease lease(*self);
                encoding = self->encode(input.first, input.is_pair ? &input.second : nullptr, options, *lease);
            }
            return encoding_of(std::move(encoding), sequence, options, self);
        },
        py::arg("sequence"), py::arg("pair") = py::none(), py::arg("is_pretokenized") = false,
        py::arg("add_special_tokens") = true, py::arg("special_as_text") = false, py::arg("truncation") = py::none(),
        py::arg("padding") = py::none());
    c.def(
        "encode_batch",
        [](const EnginePtr& self, py::object inputs, bool is_pretokenized, bool special, bool as_text, bool offsets,
           size_t threads, const py::object& truncation, const py::object& padding) {
            const py::tuple items = items_of(inputs, "input");
            EncodeOptions options = options_of(special, as_text, truncation, padding);
            options.offsets = offsets;
            options.overflow = false;
            if (!offsets && !is_pretokenized && are_texts(items) && can_wait(*self, options))
                return waiting_encodings(self, items, options, threads);
            Texts texts(replaces_surrogates(*self));
            std::vector<Input> batch;
            batch.reserve(items.size());
            for (size_t i = 0; i < items.size(); ++i) {
                batch.push_back(
                    input_of(items[i], is_pretokenized, "item " + std::to_string(i) + " of the batch", &texts));
                handle_signals(i);
            }
            std::vector<Encoding> encodings;
            size_t bytes = 0;
            for (const Input& input : batch) bytes += bytes_of(input.first) + bytes_of(input.second);
            {
                const MaybeRelease release(bytes);
                encodings = encode_batch(*self, batch, options, threads);
            }
            py::list out;
            GilYield turns;
            for (size_t i = 0; i < encodings.size(); ++i) {
                out.append(new_encoding(encoding_of(std::move(encodings[i]), items[i], options, self)));
                turns.pass(i);
            }
            return out;
        },
        py::arg("inputs"), py::arg("is_pretokenized") = false, py::arg("add_special_tokens") = true,
        py::arg("special_as_text") = false, py::arg("offsets") = true, py::arg("threads") = 0,
        py::arg("truncation") = py::none(), py::arg("padding") = py::none());
    c.def(
        "encode_ids",
        [](const Engine& self, py::object text, bool special, bool as_text) {
            Texts texts(replaces_surrogates(self));
            const Bytes bytes = texts.add(text, "text", true);
            IdBuffer ids;
            {
                const MaybeRelease release(bytes.size);
                const Engine::Lease lease(self);
                self.encode_ids(bytes, options_of(special, as_text), *lease, &ids);
            }
            return list_of_ids(ids.data(), ids.size());
        },
        py::arg("text"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false);
    c.def(
        "encode_lists",
        [](const Engine& self, py::object texts, bool special, bool as_text, size_t threads) {
            TextBatch batch(texts, replaces_surrogates(self));
            py::list out;
            batch.run([&](const std::vector<TextView>& views) {
                const auto take = [&](size_t i, const int32_t* ids, size_t n) {
                    PyList_SET_ITEM(out.ptr(), py::ssize_t(i), list_of_ids(ids, n).release().ptr());
                };
                {
                    const py::gil_scoped_acquire acquire;
                    out = py::list(views.size());
                }
                encode_each(self, views, options_of(special, as_text), threads, TextTaker(take));
            });
            return out;
        },
        py::arg("texts"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
        py::arg("threads") = 0);
    c.def(
        "encode_bytes",
        [](const Engine& self, const py::bytes& data) {
            const std::string_view bytes(data);
            IdBuffer ids;
            {
                const MaybeRelease release(bytes.size());
                const Engine::Lease lease(self);
                self.encode_raw(bytes, *lease, &ids);
            }
            return list_of_ids(ids.data(), ids.size());
        },
        py::arg("data"));
    c.def(
        "encode_ragged",
        [](const Engine& self, py::object texts, bool special, bool as_text, size_t threads) {
            TextBatch batch(texts, replaces_surrogates(self));
            Ragged ragged;
            batch.run([&](const std::vector<TextView>& views) {
                ragged = encode_ragged(self, views, options_of(special, as_text), threads);
            });
            return py::make_tuple(array_of(std::move(ragged.ids)), array_of(std::move(ragged.splits)));
        },
        py::arg("texts"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
        py::arg("threads") = 0);
    c.def(
        "count_tokens",
        [](const Engine& self, py::object texts, bool special, bool as_text, size_t threads) {
            TextBatch batch(texts, replaces_surrogates(self));
            std::vector<int64_t> counts;
            batch.run([&](const std::vector<TextView>& views) {
                counts = count_tokens(self, views, options_of(special, as_text), threads);
            });
            return counts;
        },
        py::arg("texts"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
        py::arg("threads") = 0);
    c.def(
        "post_process",
        [](const EnginePtr& self, py::handle encoding, const py::object& pair, bool special,
           const py::object& truncation, const py::object& padding) {
            const EncodeOptions options = options_of(special, false, truncation, padding);
            Encoding first = encoding_for(encoding, self), second;
            if (!pair.is_none()) second = encoding_for(pair, self);
            return PyEncoding{self->post_process(std::move(first), pair.is_none() ? nullptr : &second, options), self};
        },
        py::arg("encoding"), py::arg("pair") = py::none(), py::arg("add_special_tokens") = true,
        py::arg("truncation") = py::none(), py::arg("padding") = py::none());
}

}  // namespace crayon::python
