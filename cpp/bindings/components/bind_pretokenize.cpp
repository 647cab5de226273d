// Binds pretoken scanners and character classes, for tests, converters and tools.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bindings/bindings.h"
#include "crayon/scan/pattern_families.h"
#include "crayon/support/cpu.h"
#include "crayon/support/error.h"
#include "crayon/texts/text_view.h"
#include "crayon/unicode/unicode.h"

namespace py = pybind11;

namespace {

using crayon::Error;
using crayon::ErrorKind;

crayon::Family family_named(const std::string& name) {
    crayon::Family family;
    if (!crayon::family_of_name(name, &family))
        throw Error(ErrorKind::argument, "unknown pretokenizer family \"" + name + "\"");
    return family;
}

crayon::Flavor flavor_named(const std::string& name) {
    if (name == "oniguruma") return crayon::Flavor::oniguruma;
    if (name == "rust_regex") return crayon::Flavor::rust_regex;
    throw Error(ErrorKind::argument, "unknown flavor \"" + name + "\": use \"oniguruma\" or \"rust_regex\"");
}

const crayon::Kernels& kernels_named(const std::string& name) {
    if (name.empty()) return crayon::selected_kernels();
    for (const crayon::CpuLevel level : crayon::available_cpu_levels()) {
        if (name == crayon::cpu_level_name(level)) return crayon::kernels_of(level);
    }
    throw Error(ErrorKind::argument, "the instruction set \"" + name + "\" is not available");
}

std::vector<size_t> pretokenize(const py::bytes& data, const std::string& family, const std::string& flavor,
                                const std::string& cpu, size_t capacity) {
    const std::string_view text = data;
    if (capacity == 0) throw Error(ErrorKind::argument, "capacity must be at least 1");
    flavor_named(flavor);  // checks the name only, because both flavors have the same scanners
    const crayon::ScanFunction scan = kernels_named(cpu).scanners.of(family_named(family));
    const py::gil_scoped_release release;
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(text.data());
    std::vector<size_t> ends;
    std::vector<size_t> batch(capacity);
    size_t pos = 0;
    size_t count;
    do {
        count = scan(bytes, text.size(), pos, batch.data(), capacity);
        ends.insert(ends.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
        if (count > 0) pos = batch[count - 1];
    } while (count == capacity);
    return ends;
}

py::bytes char_classes(const std::string& flavor_name) {
    const crayon::Flavor flavor = flavor_named(flavor_name);
    std::string classes(0x110000, '\0');
    for (uint32_t c = 0; c < classes.size(); ++c) classes[c] = static_cast<char>(crayon::char_class(flavor, c));
    return classes;
}

// Returns one byte per code point. Bit 0: is_word_char. Bit 1: is_white_space.
py::bytes added_token_classes() {
    std::string classes(0x110000, '\0');
    for (uint32_t c = 0; c < classes.size(); ++c)
        classes[c] = static_cast<char>((crayon::is_word_char(c) ? 1 : 0) | (crayon::is_white_space(c) ? 2 : 0));
    return classes;
}

std::vector<std::tuple<uint32_t, uint32_t, bool>> utf8_chars(const py::bytes& data, bool backwards) {
    const std::string_view text = data;
    const uint8_t* begin = reinterpret_cast<const uint8_t*>(text.data());
    const uint8_t* end = begin + text.size();
    std::vector<std::tuple<uint32_t, uint32_t, bool>> chars;
    const uint8_t* p = backwards ? end : begin;
    while (p != (backwards ? begin : end)) {
        const crayon::Decoded c = backwards ? crayon::decode_utf8_before(begin, p) : crayon::decode_utf8(p, end);
        chars.emplace_back(c.code_point, c.size, c.valid);
        p = backwards ? p - c.size : p + c.size;
    }
    return chars;
}

py::bytes utf8_of(const py::str& text) {
    const crayon::TextView view = crayon::python::view_of(text.ptr());
    try {
        crayon::Utf8Reader reader;
        const crayon::Bytes read = reader.read(view, 0, view.size);
        std::string written(crayon::utf8_size(view, 0, view.size), '\0');
        constexpr size_t kBehind = 64;
        std::string memory(written.size() + kBehind, '\xFF');
        crayon::write_utf8(view, 0, view.size, reinterpret_cast<uint8_t*>(memory.data()));
        if (memory.substr(written.size()) != std::string(kBehind, '\xFF')) throw std::runtime_error("written behind");
        written = memory.substr(0, written.size());
        if (read.view() != written) throw std::runtime_error("Utf8Reader and write_utf8 disagree");
        return py::bytes(written);
    } catch (const crayon::NotUnicode&) {
        throw py::value_error("surrogates");
    }
}

}  // namespace

void bind_pretokenize(py::module_& m) {
    py::module_ testing = m.def_submodule("_testing");
    testing.def("pretokenize", &pretokenize, py::arg("data"), py::arg("family"), py::arg("flavor") = "oniguruma",
                py::arg("cpu") = "", py::arg("capacity") = 1024,
                "Return the end offsets (bytes) of the pretokens of `data`.\n\n`cpu` forces an instruction set; "
                "`capacity` is the number of pretokens per call of the scanner.");
    testing.def("char_classes", &char_classes, py::arg("flavor"),
                "Return one class byte for each of the 1,114,112 code points (the values of CharClass in unicode.h).");
    testing.def("added_token_classes", &added_token_classes,
                "Return one byte per code point: 1 for \\w, plus 2 for white space, as added tokens see them.");
    m.def(
        "cpu_levels",
        [] {
            std::vector<std::string> names;
            for (const crayon::CpuLevel level : crayon::available_cpu_levels())
                names.emplace_back(crayon::cpu_level_name(level));
            return names;
        },
        "Return the instruction sets that this build and this CPU support, slowest first.");
    m.def(
        "canonical_pattern",
        [](const std::string& family) { return std::string(crayon::canonical_pattern(family_named(family))); },
        py::arg("family"), "Return the pattern of this family for a tokenizer.json; empty for \"whole\".");
    m.def(
        "family_of_pattern",
        [](const std::string& pattern, const std::string& flavor) -> std::optional<std::string> {
            crayon::Family family;
            if (!crayon::family_of_pattern(pattern, flavor_named(flavor), &family)) return std::nullopt;
            return crayon::family_name(family);
        },
        py::arg("pattern"), py::arg("flavor"), "Return the family of a published `Split` pattern, or None.");
    m.def(
        "is_read_alike", [](const std::string& pattern) { return crayon::is_read_alike(pattern); }, py::arg("pattern"),
        "Return whether this is a published pattern without a scanner that both regex engines read alike.");
    testing.def(
        "known_patterns",
        [](const std::string& flavor) {
            std::vector<std::string> patterns;
            for (const std::string_view pattern : crayon::known_patterns(flavor_named(flavor)))
                patterns.emplace_back(pattern);
            return patterns;
        },
        py::arg("flavor"), "Return every pattern that family_of_pattern knows.");
    testing.def("utf8_chars", &utf8_chars, py::arg("data"), py::arg("backwards") = false,
                "Return (code point, bytes, valid) for each character; an invalid byte counts as one.");
    testing.def(
        "utf8_error",
        [](const py::bytes& data) {
            const std::string_view text = data;
            return crayon::utf8_error(reinterpret_cast<const uint8_t*>(text.data()), text.size());
        },
        py::arg("data"), "Return the offset of the first byte that is not valid UTF-8, or the size.");
    m.def(
        "decode_utf8",
        [](const py::bytes& data) { return crayon::python::str_of(crayon::Bytes(std::string_view(data))); },
        py::arg("data"), "Return data.decode(), faster.");
    testing.def("utf8_of", &utf8_of, py::arg("text"),
                "Return a str's UTF-8, written from its code points by both writers. Raise ValueError for surrogates.");
    testing.def(
        "utf8_lossy",
        [](const py::bytes& data) {
            const std::string_view text = data;
            return crayon::utf8_lossy(reinterpret_cast<const uint8_t*>(text.data()), text.size());
        },
        py::arg("data"), "Return the text with every maximal invalid subpart replaced by U+FFFD.");
}
