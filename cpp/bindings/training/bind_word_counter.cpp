// Binds WordCounter, which counts texts, lines and words, and returns unique words.
#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "bindings/buffer_view.h"
#include "bindings/inputs.h"
#include "training.h"

namespace crayon::python {

Progress progress_of(py::handle callback) {
    if (!callback.is_none() && !PyCallable_Check(callback.ptr()))
        throw py::type_error("progress is " + type_name(callback) + ", expected a function or None");
    return [callback](const char* stage, uint64_t done, uint64_t total) {
        const py::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        if (!callback.is_none()) callback(stage, done, total);
    };
}

namespace {

void add(PyWordCounter& self, const py::object& texts, const py::object& progress) {
    const Progress report = progress_of(progress);
    TextBatch batch(texts, self.replaces_surrogates, false);
    const UsesCounter use(self);
    batch.run([&](const std::vector<TextView>& views) { self.counter.add(views, report); });
}

void add_lines(PyWordCounter& self, const py::object& data, const py::object& progress) {
    const Progress report = progress_of(progress);
    const BufferView view(data);
    const UsesCounter use(self);
    const py::gil_scoped_release release;
    self.counter.add_lines(view.all(), report);
}

void add_words(PyWordCounter& self, const py::object& mapping) {
    if (!PyMapping_Check(mapping.ptr()) || PySequence_Check(mapping.ptr()))
        if (!py::hasattr(mapping, "items"))
            throw py::type_error("words is " + type_name(mapping) + ", expected a dict");
    const py::tuple items(mapping.attr("items")());  // tuples are immutable
    Texts kept(false);
    std::vector<CountedWord> words;
    words.reserve(items.size());
    for (const py::handle item : items) {
        const py::tuple pair = py::reinterpret_borrow<py::tuple>(item);
        CountedWord word{{}, 0, false};
        if (!kept.add_usual(pair[0], &word.text)) word.text = kept.add(pair[0], "a word", false);
        word.count = PyLong_Check(py::object(pair[1]).ptr()) ? PyLong_AsUnsignedLongLong(py::object(pair[1]).ptr()) : 0;
        if (!PyLong_Check(py::object(pair[1]).ptr()))
            throw py::type_error("the count of " + std::string(py::repr(pair[0])) + " is " +
                                 type_name(py::object(pair[1])) + ", expected int");
        if (PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            throw py::value_error("the count of " + std::string(py::repr(pair[0])) + " is " +
                                  std::string(py::repr(pair[1])) + ", expected 0 to 2^64 - 1");
        }
        words.push_back(word);
    }
    const UsesCounter use(self);
    const py::gil_scoped_release release;
    self.counter.add_words(words);
}

py::list counted_words(PyWordCounter& self) {
    const UsesCounter use(self);
    std::vector<CountedWord> words;
    {
        const py::gil_scoped_release release;
        words = self.counter.words();
        std::sort(words.begin(), words.end(), [](const CountedWord& a, const CountedWord& b) {
            return std::make_tuple(a.text.view(), a.count, a.is_raw) <
                   std::make_tuple(b.text.view(), b.count, b.is_raw);
        });
    }
    py::list out(words.size());
    for (size_t i = 0; i < words.size(); ++i) {
        const CountedWord& word = words[i];
        out[i] = py::make_tuple(py::bytes(word.text.view()), word.count, word.is_raw);
    }
    return out;
}

}  // namespace

void bind_word_counter(py::module_& m) {
    py::class_<PyWordCounter>(m, "WordCounter")
        .def(py::init([](std::shared_ptr<const Engine> engine, size_t threads, bool added_tokens) {
                 const bool replaces = replaces_surrogates(*engine);
                 return std::make_unique<PyWordCounter>(std::move(engine), threads, replaces, added_tokens);
             }),
             py::arg("engine").none(false), py::arg("threads") = 0, py::arg("added_tokens") = true)
        .def("add", &add, py::arg("texts"), py::arg("progress") = py::none())
        .def("add_lines", &add_lines, py::arg("data"), py::arg("progress") = py::none())
        .def("add_words", &add_words, py::arg("words"))
        .def("words", &counted_words)
        .def_property_readonly("unique", [](const PyWordCounter& self) { return self.counter.unique(); })
        .def_property_readonly("total", [](const PyWordCounter& self) { return self.counter.total(); })
        .def_property_readonly("bytes", [](const PyWordCounter& self) { return self.counter.bytes(); });
}

}  // namespace crayon::python
