// Binds budgets: counts up to a limit, truncation, TokenIndex, Appender.
#include <pybind11/stl.h>

#include <atomic>

#include "bindings/inputs.h"
#include "crayon/budgets/appender.h"
#include "crayon/budgets/budgets.h"
#include "crayon/budgets/text_index.h"

namespace crayon::python {
namespace {

using EnginePtr = std::shared_ptr<const Engine>;

// Returns a view of the code points of a str.
TextView characters_of(const py::str& text) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text.ptr()) != 0) throw py::error_already_set();
#endif
    const bool is_ascii = PyUnicode_IS_ASCII(text.ptr());
    return {PyUnicode_DATA(text.ptr()), size_t(PyUnicode_GET_LENGTH(text.ptr())),
            uint8_t(is_ascii ? 0 : PyUnicode_KIND(text.ptr()))};
}

// Runs work(), without the GIL if the text is large. A lone surrogate in the text raises TypeError.
template <typename Work>
auto on_characters(const py::str& text, size_t units, Work&& work) {
    try {
        const MaybeRelease release(units);
        return work();
    } catch (const NotUnicode&) {
    }
    Texts(false).add(text, "text", false);
    throw py::type_error("text has a lone surrogate, which is not valid text");
}

struct PyTokenIndex {
    PyTokenIndex(const EnginePtr& engine, const py::str& from, bool special_as_text)
        : text(from), index(on_characters(from, characters_of(from).size, [&] {
              return std::make_unique<TextIndex>(engine, characters_of(from), special_as_text);
          })) {}
    const py::str text;
    const std::unique_ptr<TextIndex> index;
};

// An Appender that one thread at a time may use.
struct PyAppender {
    PyAppender(EnginePtr engine, bool special_as_text) : appender(std::move(engine), special_as_text) {}
    Appender appender;
    std::atomic_flag busy = ATOMIC_FLAG_INIT;

    template <typename Work>
    auto alone(Work&& work) {
        if (busy.test_and_set())
            throw std::runtime_error("another thread is using this Appender: give each thread its own");
        const auto leave = [](std::atomic_flag* flag) { flag->clear(); };
        const std::unique_ptr<std::atomic_flag, decltype(leave)> entered(&busy, leave);
        return work();
    }
    size_t change(size_t (Appender::*how)(std::string_view), const py::str& text) {
        Texts texts(false);
        const std::string_view view = texts.add(text, "text", false).view();
        return alone([&] {
            const MaybeRelease release(view.size());
            return (appender.*how)(view);
        });
    }
};

void bind_token_index(py::module_& m) {
    py::class_<PyTokenIndex>(m, "TokenIndex")
        .def("count",
             [](const PyTokenIndex& self, size_t start, size_t end) {
                 const MaybeRelease release(self.index->work(start, end));
                 return self.index->count(start, end);
             })
        .def("ids",
             [](const PyTokenIndex& self, size_t start, size_t end) {
                 IdBuffer ids;
                 {
                     const MaybeRelease release(end - start);
                     self.index->ids(start, end, &ids);
                 }
                 return list_of_ids(ids.data(), ids.size());
             })
        .def("longest",
             [](const PyTokenIndex& self, size_t start, size_t most) {
                 const MaybeRelease release(self.index->work(start, characters_of(self.text).size));
                 return self.index->longest(start, most);
             })
        .def("longest_before", [](const PyTokenIndex& self, size_t end, size_t most) {
            const MaybeRelease release(self.index->work(0, end));
            return self.index->longest_before(end, most);
        });
}

void bind_appender(py::module_& m) {
    py::class_<PyAppender>(m, "Appender")
        .def("append", [](PyAppender& self, const py::str& text) { return self.change(&Appender::append, text); })
        .def("prepend", [](PyAppender& self, const py::str& text) { return self.change(&Appender::prepend, text); })
        .def("pop",
             [](PyAppender& self, size_t characters) {
                 return self.alone([&] {
                     const MaybeRelease release(characters);
                     return self.appender.pop(characters);
                 });
             })
        .def("ids_from",
             [](PyAppender& self, size_t start) {
                 IdBuffer ids;
                 self.alone([&] { self.appender.ids_from(start, &ids); });
                 return list_of_ids(ids.data(), ids.size());
             })
        .def_property_readonly("count",
                               [](PyAppender& self) { return self.alone([&] { return self.appender.count(); }); })
        .def_property_readonly("characters",
                               [](PyAppender& self) { return self.alone([&] { return self.appender.characters(); }); })
        .def_property_readonly("text", [](PyAppender& self) {
            const std::string text = self.alone([&] { return self.appender.text(); });
            return str_of(Bytes(text));
        });
}

}  // namespace

void bind_budgets(py::module_& m, EngineClass& c) {
    bind_token_index(m);
    bind_appender(m);
    c.def(
        "count_up_to",
        [](const Engine& self, const py::object& texts, size_t limit, bool special, bool as_text, size_t threads) {
            TextBatch batch(texts, replaces_surrogates(self));
            std::vector<int64_t> counts;
            batch.run([&](const std::vector<TextView>& views) {
                counts = count_up_to(self, views, options_of(special, as_text), limit, threads);
            });
            return counts;
        },
        py::arg("texts"), py::arg("limit"), py::arg("add_special_tokens") = true, py::arg("special_as_text") = false,
        py::arg("threads") = 0);
    c.def(
        "truncation_place",
        [](const EnginePtr& self, const py::str& text, size_t most, const std::string& cut_off, bool special,
           bool as_text) {
            const TextView view = characters_of(text);
            const Side side = truncation_side(cut_off);
            const size_t units = std::min(view.size, 8 * std::min(most, view.size));
            return on_characters(
                text, units, [&] { return truncation_place(self, view, most, side, options_of(special, as_text)); });
        },
        py::arg("text"), py::arg("max_tokens"), py::arg("cut_off") = "right", py::arg("add_special_tokens") = true,
        py::arg("special_as_text") = false);
    c.def(
        "token_index",
        [](const EnginePtr& self, const py::str& text, bool as_text) {
            return std::make_unique<PyTokenIndex>(self, text, as_text);
        },
        py::arg("text"), py::arg("special_as_text") = false);
    c.def(
        "appender", [](const EnginePtr& self, bool as_text) { return std::make_unique<PyAppender>(self, as_text); },
        py::arg("special_as_text") = false);
}

}  // namespace crayon::python
