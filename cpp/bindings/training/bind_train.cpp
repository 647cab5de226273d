// Binds train_bpe, which makes tokens and merges from the words of a WordCounter.
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "training.h"

namespace crayon::python {
namespace {

// The code points of strings of one character each.
std::vector<uint32_t> characters_of(const std::vector<std::string>& strings) {
    std::vector<uint32_t> characters;
    for (const std::string& string : strings) {
        const uint8_t* const begin = reinterpret_cast<const uint8_t*>(string.data());
        const Decoded c = string.empty() ? Decoded{0, 0, false} : decode_utf8(begin, begin + string.size());
        if (!c.valid || c.size != string.size())
            throw Error(ErrorKind::argument, "initial_alphabet has \"" + string + "\", expected single characters");
        characters.push_back(c.code_point);
    }
    return characters;
}

py::tuple train(PyWordCounter& words, BpeTrainerOptions options, const std::vector<std::string>& initial_alphabet,
                const py::object& progress) {
    options.initial_alphabet = characters_of(initial_alphabet);
    const Progress report = progress_of(progress);
    const UsesCounter use(words);
    TrainedBpe trained;
    {
        const py::gil_scoped_release release;
        trained = train_bpe(words.counter.words(), options, report);
    }
    return py::make_tuple(py::cast(trained.tokens), py::cast(trained.merges));
}

}  // namespace

void bind_train(py::module_& m) {
    m.def(
        "train_bpe",
        [](PyWordCounter& words, size_t vocab_size, uint64_t min_frequency, std::vector<std::string> special_tokens,
           std::optional<size_t> limit_alphabet, const std::vector<std::string>& initial_alphabet,
           std::string continuing_subword_prefix, std::string end_of_word_suffix,
           std::optional<size_t> max_token_length, const py::object& progress) {
            BpeTrainerOptions options;
            options.vocab_size = vocab_size;
            options.min_frequency = min_frequency;
            options.special_tokens = std::move(special_tokens);
            options.limit_alphabet = limit_alphabet;
            options.continuing_subword_prefix = std::move(continuing_subword_prefix);
            options.end_of_word_suffix = std::move(end_of_word_suffix);
            options.max_token_length = max_token_length;
            return train(words, std::move(options), initial_alphabet, progress);
        },
        py::arg("words"), py::kw_only(), py::arg("vocab_size") = 30000, py::arg("min_frequency") = 0,
        py::arg("special_tokens") = std::vector<std::string>(), py::arg("limit_alphabet") = py::none(),
        py::arg("initial_alphabet") = std::vector<std::string>(), py::arg("continuing_subword_prefix") = "",
        py::arg("end_of_word_suffix") = "", py::arg("max_token_length") = py::none(), py::arg("progress") = py::none());
}

}  // namespace crayon::python
