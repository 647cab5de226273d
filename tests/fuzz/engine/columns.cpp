// Spans, UTF-8 and JSON lines: alike on every instruction set and number of threads, and as a plain reading has them.
// Input: what to try, options, then the data.
#include <algorithm>
#include <cstring>

#include "crayon/batch/batch.h"
#include "crayon/batch/json_lines.h"
#include "crayon/batch/spans.h"
#include "crayon/batch/text_view.h"
#include "crayon/json/json.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "support.h"
#include "unicode/unit_writers.h"
#include "unicode/utf8_chars.h"

using namespace crayon;

namespace {

void check_split(Bytes separator, Bytes data) {
    if (separator.empty()) return;
    const std::string_view text = data.view();
    std::vector<int64_t> begins, ends;
    for (size_t at = 0; at < text.size();) {
        const size_t found = std::min(text.find(separator.view(), at), text.size());
        begins.push_back(int64_t(at));
        ends.push_back(int64_t(found));
        at = found + separator.size;
    }
    for (const size_t threads : {1, 3}) {
        const SpanList spans = split_spans(data, separator, threads);
        fuzz::require(spans.begins == begins && spans.ends == ends, "split_spans against a plain search");
    }
}

// The first byte of what is no character.
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
    // Long enough for whole vectors, with the data at any place of one.
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

// The code points that a str would hold in units of this size.
template <typename Unit>
void check_units(Bytes data) {
    std::vector<Unit> units(data.size / sizeof(Unit));
    if (!units.empty()) std::memcpy(units.data(), data.data, units.size() * sizeof(Unit));
    for (Unit& c : units)
        if (sizeof(Unit) == 4) c = Unit(c & 0x1FFFFF);  // else hardly any is a code point
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
            std::vector<uint8_t> exact(utf8_size(view, 0, view.size));  // what is written behind it is seen
            write_utf8(view, 0, view.size, exact.data());
            fuzz::require(std::string(exact.begin(), exact.end()) == found, "write_utf8 against Utf8Reader");
        } catch (const NotUnicode&) {
            is_read = false;
        }
        fuzz::require(is_read == is_text && (!is_text || found == plain), "the UTF-8 of units on " + level);
        if (const UnitWriters* const by = is_text ? best_unit_writers() : nullptr) {
            const Utf8Shape shape = utf8_shape(Bytes(plain));
            fuzz::require(shape.characters == units.size(), "the characters of UTF-8");
            std::vector<Unit> written(units.size());
            by->write(Bytes(plain), units.size(), written.data());
            fuzz::require(written == units, "units of the UTF-8 of units on " + level);
        }
    }
}

// What a strict reading makes of a line that the fast one was sure of.
void check_line(const std::string& line, const std::vector<std::string>& columns,
                const std::vector<std::string>& found) {
    json::Document document;
    try {
        document = json::parse(line);
    } catch (const Error& error) {
        // json.loads takes any number.
        fuzz::require(std::string(error.what()).find("number") != std::string::npos, "a line is no JSON", error.what());
        return;
    }
    for (size_t i = 0; i < columns.size(); ++i) {
        const json::Value* const value = document.root.find(columns[i]);
        fuzz::require(value != nullptr && value->is_string() && value->as_string("") == found[i],
                      "a column against the strict parser", line + "\n" + found[i]);
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
        const std::string line(data.slice(from, to).view());
        if (first.status[i] != LineStatus::strings) {
            fuzz::require(first_block.substr(from, to - from) == line, "a line that is left alone was changed");
            continue;
        }
        std::vector<std::string> found;
        for (size_t k = i * columns.size(); k < (i + 1) * columns.size(); ++k) {
            fuzz::require(
                first.begins[k] >= int64_t(from) && first.ends[k] <= int64_t(to) && first.begins[k] <= first.ends[k],
                "a string outside its line");
            found.push_back(first_block.substr(size_t(first.begins[k]), size_t(first.ends[k] - first.begins[k])));
        }
        check_line(line, columns, found);
    }
}

void check_spans(fuzz::Input* input) {
    const size_t vocabulary = input->below(fuzz::vocabularies().size());
    std::vector<int64_t> begins, ends;
    for (size_t n = input->below(6); n > 0; --n) {
        begins.push_back(int8_t(input->byte()));
        ends.push_back(int8_t(input->byte()));
    }
    const Suffix suffix{{int64_t(input->word()), 7}, input->flag()};
    const Bytes data = input->rest();
    std::string first;
    for (const fuzz::EnginePtr& engine : fuzz::engines_of(vocabulary, false)) {
        std::string result;
        try {
            const auto texts = texts_of_spans(data, begins.data(), ends.data(), begins.size());
            const SpanIds<uint16_t> spans = encode_spans<uint16_t>(*engine, texts, EncodeOptions(), suffix, 2);
            result.assign(reinterpret_cast<const char*>(spans.ids.data()), spans.ids.size() * 2);
            for (const int64_t split : spans.splits) result += " " + std::to_string(split);
        } catch (const Error& error) {
            result = error.what();
        }
        if (first.empty()) first = result;
        fuzz::require(result == first, "encode_spans", result + "\n" + first);
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
    switch (what % 4) {
        case 0:
            check_json_lines(&input);
            break;
        case 1:
            check_utf8(&input);
            break;
        case 2: {
            const Bytes separator = input.take(input.below(9));
            check_split(separator, input.rest());
            break;
        }
        default:
            check_spans(&input);
    }
    return 0;
}
