// Binds extend_bpe, which returns tokens and merges, and kept_tokens, which returns a mask of tokens. Both use the
// words of a WordCounter.
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.h"
#include "crayon/training/kept_tokens.h"
#include "training.h"

namespace crayon::python {
namespace {

py::tuple extend(PyWordCounter& words, const Engine& engine, std::vector<std::string> tokens,
                 const std::vector<uint32_t>& reusable, const std::vector<uint32_t>& apart,
                 const BpeTrainerOptions& options, const py::object& progress) {
    const Progress report = progress_of(progress);
    const UsesCounter use(words);
    const size_t before = tokens.size();
    TrainedBpe trained;
    {
        const py::gil_scoped_release release;
        trained = extend_bpe(engine, words.counter.words(), std::move(tokens), reusable, apart, options, report);
    }
    const auto first_new = trained.tokens.begin() + std::ptrdiff_t(before);
    return py::make_tuple(py::cast(std::vector<std::string>(first_new, trained.tokens.end())),
                          py::cast(trained.merges));
}

py::array_t<uint64_t> uses_of(PyWordCounter& words, const Engine& engine, const py::object& progress) {
    const Progress report = progress_of(progress);
    const UsesCounter use(words);
    std::vector<uint64_t> uses;
    {
        const py::gil_scoped_release release;
        uses = token_uses(engine, words.counter.words(), report);
    }
    return array_of(std::move(uses));
}

py::dict characters_of_words(PyWordCounter& words) {
    const UsesCounter use(words);
    py::dict out;
    for (const auto& [character, count] : word_characters(words.counter.words())) out[py::str(character)] = count;
    return out;
}

}  // namespace

void bind_surgery(py::module_& m) {
    m.def(
        "extend_bpe",
        [](PyWordCounter& words, const Engine& engine, std::vector<std::string> tokens,
           const std::vector<uint32_t>& reusable, const std::vector<uint32_t>& apart, size_t vocab_size,
           uint64_t min_frequency, std::optional<size_t> max_token_length, std::string continuing_subword_prefix,
           const py::object& progress) {
            BpeTrainerOptions options;
            options.vocab_size = vocab_size;
            options.min_frequency = min_frequency;
            options.max_token_length = max_token_length;
            options.continuing_subword_prefix = std::move(continuing_subword_prefix);
            return extend(words, engine, std::move(tokens), reusable, apart, options, progress);
        },
        py::arg("words"), py::arg("engine"), py::kw_only(), py::arg("tokens"), py::arg("reusable"), py::arg("apart"),
        py::arg("vocab_size"), py::arg("min_frequency") = 0, py::arg("max_token_length") = py::none(),
        py::arg("continuing_subword_prefix") = "", py::arg("progress") = py::none());
    m.def("token_uses", &uses_of, py::arg("words"), py::arg("engine"), py::arg("progress") = py::none());
    m.def("word_characters", &characters_of_words, py::arg("words"));
    m.def(
        "kept_tokens",
        [](const Engine& engine, std::vector<uint32_t> required, std::vector<uint64_t> uses, std::optional<size_t> most,
           std::string continuing_subword_prefix, std::string end_of_word_suffix) {
            const KeptTokensOptions options{std::move(required), std::move(uses), most,
                                            std::move(continuing_subword_prefix), std::move(end_of_word_suffix)};
            std::vector<uint8_t> kept;
            {
                const py::gil_scoped_release release;
                kept = kept_tokens(engine, options);
            }
            return array_of<bool>(std::move(kept), {py::ssize_t(engine.cartridge().program().n_ids)});
        },
        py::arg("engine"), py::kw_only(), py::arg("required"), py::arg("uses"), py::arg("most"),
        py::arg("continuing_subword_prefix") = "", py::arg("end_of_word_suffix") = "");
}

}  // namespace crayon::python
