// Converts UTF-8 and code points, and reads JSON lines. Results must be equal on every instruction set and number of
// threads, and equal to those of a plain loop. Input: the check to make, options, then the data.
#include <algorithm>
#include <cstring>

#include "crayon/encode/sinks/batch.h"
#include "crayon/encode/sinks/ranges.h"
#include "crayon/texts/json_lines.h"
#include "crayon/texts/text_ranges.h"
#include "crayon/texts/text_view.h"
#include "crayon/unicode/unicode.h"
#include "support.h"
#include "unicode/utf8_chars.h"
#include "unicode/utf8_shape.h"

using namespace crayon;

namespace {

// Returns the offset of the first byte that is not part of a valid character, or -1.
int64_t plain_error(Bytes text) {
    for (const uint8_t* p = text.begin(); p < text.end();) {
        const Decoded c = decode_utf8(p, text.end());
        if (!c.valid) return p - text.begin();
        p += c.size;
    }
    return -1;
}

void check_utf8(fuzz::Input* input) {
    std::vector<TextView> texts;
    std::vector<int64_t> errors;
    const size_t repeats = 1 + input->below(3);
    const Bytes head = input->take(input->below(100)), data = input->rest();
    // Long enough for whole vectors, with the data at any offset in one.
    std::string all(head.view());
    for (size_t i = 0; i < repeats; ++i) all += data.view();
    all += "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t from = 0; from < all.size(); from += 1 + all.size() / 5) {
        const Bytes text = Bytes(all).slice(from, all.size());
        texts.push_back({text.data, text.size, 0});
        errors.push_back(plain_error(text));
        fuzz::require(
            int64_t(utf8_error(text.data, text.size)) == (errors.back() < 0 ? int64_t(text.size) : errors.back()),
            "utf8_error against character by character");
    }
    for (const std::string& level : fuzz::levels()) {
        const fuzz::AtLevel at(level);
        fuzz::require(utf8_errors(texts, 2) == errors, "utf8_errors on " + level);
    }
}

// Checks the conversion of a str to UTF-8. `data` are its code points, in units of this size.
template <typename Unit>
void check_units(Bytes data) {
    std::vector<Unit> units(data.size / sizeof(Unit));
    if (!units.empty()) std::memcpy(units.data(), data.data, units.size() * sizeof(Unit));
    for (Unit& c : units)
        if (sizeof(Unit) == 4) c = Unit(c & 0x1FFFFF);  // otherwise hardly any unit is a code point
    const TextView view{units.data(), units.size(), sizeof(Unit)};
    std::string plain;
    bool is_text = true;
    for (const Unit c : units) {
        is_text = is_text && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
        if (is_text) append_utf8(uint32_t(c), &plain);
    }
    for (const std::string& level : fuzz::levels()) {
        const fuzz::AtLevel at(level);
        std::string found;
        bool is_read = true;
        try {
            Utf8Reader reader;
            found = reader.read(view, 0, view.size).view();
            std::vector<uint8_t> exact(utf8_size(view, 0, view.size));  // sanitizers report writes beyond it
            write_utf8(view, 0, view.size, exact.data());
            fuzz::require(std::string(exact.begin(), exact.end()) == found, "write_utf8 against Utf8Reader");
        } catch (const NotUnicode&) {
            is_read = false;
        }
        fuzz::require(is_read == is_text && (!is_text || found == plain), "the UTF-8 of units on " + level);
        const UnitWriters& by = selected_kernels().unit_writers;
        if (is_text && by.ucs1 != nullptr) {
            const Utf8Shape shape = utf8_shape(Bytes(plain));
            fuzz::require(shape.characters == units.size(), "the characters of UTF-8");
            std::vector<Unit> written(units.size());
            by.write(Bytes(plain), units.size(), written.data());
            fuzz::require(written == units, "units of the UTF-8 of units on " + level);
        }
    }
}

void check_json_lines(fuzz::Input* input) {
    const std::vector<std::string> columns =
        input->flag() ? std::vector<std::string>{"text"} : std::vector<std::string>{"text", "a\"\\\xC3\xA9"};
    const Bytes data = input->rest();
    JsonLines first;
    std::string first_block;
    for (const std::string& level : fuzz::levels()) {
        const fuzz::AtLevel at(level);
        for (const size_t threads : {1, 2}) {
            std::string block(data.view());
            JsonLines lines = read_json_lines(reinterpret_cast<uint8_t*>(&block[0]), block.size(), columns, threads);
            if (first.line_begins.empty()) {
                first = std::move(lines);
                first_block = std::move(block);
                continue;
            }
            fuzz::require(lines.line_begins == first.line_begins && lines.status == first.status &&
                              lines.begins == first.begins && lines.ends == first.ends && block == first_block,
                          "read_json_lines on " + level);
        }
    }
    for (size_t i = 0; i < first.status.size(); ++i) {
        const size_t from = size_t(first.line_begins[i]), to = size_t(first.line_begins[i + 1]);
        for (size_t k = i * columns.size(); k < (i + 1) * columns.size(); ++k)
            fuzz::require(first.status[i] != LineStatus::strings ||
                              (first.begins[k] >= int64_t(from) && first.begins[k] <= first.ends[k] &&
                               first.ends[k] <= int64_t(to)),
                          "a string outside its line");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input input(data, size);
    const uint8_t what = input.byte();
    if (what >= 0xE0) {
        if (what % 3 == 0) check_units<uint8_t>(input.rest());
        if (what % 3 == 1) check_units<uint16_t>(input.rest());
        if (what % 3 == 2) check_units<uint32_t>(input.rest());
        return 0;
    }
    if (what % 2 == 0)
        check_json_lines(&input);
    else
        check_utf8(&input);
    return 0;
}
