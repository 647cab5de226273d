// An Encoding as the JSON that tokenizers pickles.
#include <algorithm>
#include <charconv>
#include <limits>

#include "crayon/json/json.h"
#include "crayon/post/encoding.h"
#include "crayon/support/error.h"

namespace crayon {
namespace {

using json::Value;

char* write_number(char* at, uint64_t number) {
    return std::to_chars(at, at + std::numeric_limits<uint64_t>::digits10 + 1, number).ptr;
}

void append_number(std::string* out, uint64_t number) {
    char digits[std::numeric_limits<uint64_t>::digits10 + 1];
    out->append(digits, write_number(digits, number));
}

void begin_list(std::string* out, const char* name) {
    *out += '"';
    *out += name;
    *out += "\":[";
}

// `write(at, value)` writes at most `room` characters and returns the end of them.
template <typename Values, typename Write>
void write_list(std::string* out, const char* name, const Values& values, size_t room, Write&& write) {
    begin_list(out, name);
    const size_t begin = out->size();
    out->resize(begin + values.size() * (room + 1));
    char* at = out->data() + begin;
    for (const auto& value : values) {
        at = write(at, value);
        *at++ = ',';
    }
    if (!values.empty()) --at;
    out->resize(size_t(at - out->data()));
    *out += "],";
}

void write_encoding(std::string* out, const Encoding& e, const TokenStringOf& string_of) {
    constexpr size_t kDigits = std::numeric_limits<uint32_t>::digits10 + 1;
    const auto number = [](char* at, auto value) { return write_number(at, value); };
    *out += '{';
    write_list(out, "ids", e.ids, kDigits, [](char* at, int32_t id) { return write_number(at, uint32_t(id)); });
    write_list(out, "type_ids", e.type_ids, kDigits, number);
    begin_list(out, "tokens");
    for_each_text(e, string_of, [&](size_t i, const std::string& text) {
        if (i > 0) *out += ',';
        json::append_quoted(*out, text);
    });
    *out += "],";
    write_list(out, "words", e.words, kDigits, [](char* at, int32_t word) {
        return word == kNoWord ? std::copy_n("null", 4, at) : write_number(at, uint32_t(word));
    });
    write_list(out, "offsets", e.offsets, 2 * kDigits + 3, [](char* at, const Offset& offset) {
        *at = '[';
        at = write_number(at + 1, offset.start);
        *at = ',';
        at = write_number(at + 1, offset.end);
        *at = ']';
        return at + 1;
    });
    write_list(out, "special_tokens_mask", e.special, kDigits, number);
    write_list(out, "attention_mask", e.attention, kDigits, number);
    begin_list(out, "overflowing");
    for (const Encoding& other : e.overflowing) {
        if (&other != e.overflowing.data()) *out += ',';
        write_encoding(out, other, string_of);
    }
    *out += "],\"sequence_ranges\":{";
    for (const SequenceRange& range : e.ranges) {
        if (&range != e.ranges.data()) *out += ',';
        *out += '"';
        append_number(out, range.sequence);
        *out += "\":{\"start\":";
        append_number(out, range.start);
        *out += ",\"end\":";
        append_number(out, range.end);
        *out += '}';
    }
    *out += "}}";
}

[[noreturn]] void fail(const std::string& what) {
    throw Error(ErrorKind::vocabulary, what);
}

const Value& member(const Value& object, const char* name) {
    const Value* value = object.find(name);
    if (value == nullptr) fail("missing field `" + std::string(name) + "`");
    return *value;
}

template <typename T>
T number_of(const Value& value, const char* what, int64_t limit = std::numeric_limits<T>::max()) {
    const int64_t number = value.as_integer(what);
    if (number < 0 || number > limit) fail(std::string(what) + " has the number " + std::to_string(number));
    return T(number);
}

template <typename T, typename Read>
void read_list(const Value& encoding, const char* name, size_t size, std::vector<T>* out, Read&& read) {
    const json::Items<Value> values = member(encoding, name).as_array(name);
    if (values.size() != size)
        fail(std::string(name) + " has " + std::to_string(values.size()) +
             " elements, expected one for each id: " + std::to_string(size) + " ids");
    out->reserve(size);
    for (const Value& value : values) out->push_back(read(value));
}

size_t sequence_of(std::string_view text) {
    size_t sequence = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), sequence);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size())
        fail("sequence_ranges has the sequence " + json::quote(text));
    return sequence;
}

Encoding read_encoding(const Value& value) {
    Encoding out;
    value.as_object("an encoding");
    const size_t size = member(value, "ids").as_array("ids").size();
    if (size > std::numeric_limits<uint32_t>::max()) fail("too many ids for 32-bit indices");
    read_list(value, "ids", size, &out.ids, [](const Value& v) { return int32_t(number_of<uint32_t>(v, "ids")); });
    read_list(value, "type_ids", size, &out.type_ids,
              [](const Value& v) { return number_of<uint32_t>(v, "type_ids"); });
    read_list(value, "tokens", size, &out.texts, [&](const Value& v) {
        return TokenText{uint32_t(out.texts.size()), std::string(v.as_string("tokens"))};
    });
    read_list(value, "words", size, &out.words,
              [](const Value& v) { return v.is_null() ? kNoWord : number_of<int32_t>(v, "words"); });
    read_list(value, "offsets", size, &out.offsets, [](const Value& v) {
        const json::Items<Value> ends = v.as_array("offsets");
        if (ends.size() != 2) fail("offsets has an element that is not a pair");
        return Offset{number_of<uint32_t>(ends[0], "offsets"), number_of<uint32_t>(ends[1], "offsets")};
    });
    read_list(value, "special_tokens_mask", size, &out.special,
              [](const Value& v) { return number_of<uint8_t>(v, "special_tokens_mask"); });
    read_list(value, "attention_mask", size, &out.attention,
              [](const Value& v) { return number_of<uint8_t>(v, "attention_mask"); });
    for (const Value& other : member(value, "overflowing").as_array("overflowing"))
        out.overflowing.push_back(read_encoding(other));
    for (const auto& [name, range] : member(value, "sequence_ranges").as_object("sequence_ranges")) {
        const auto end = number_of<uint32_t>(member(range, "end"), "sequence_ranges", int64_t(size));
        const auto start = number_of<uint32_t>(member(range, "start"), "sequence_ranges", int64_t(end));
        const size_t sequence = sequence_of(name);
        const auto is_same = [&](const SequenceRange& known) { return known.sequence == sequence; };
        out.ranges.erase(std::remove_if(out.ranges.begin(), out.ranges.end(), is_same), out.ranges.end());
        out.ranges.push_back({sequence, start, end});
    }
    return out;
}

}  // namespace

std::string to_json(const Encoding& encoding, const TokenStringOf& string_of) {
    std::string out;
    write_encoding(&out, encoding, string_of);
    return out;
}

Encoding encoding_from_json(std::string_view text) {
    const json::Document document = json::parse(text);
    return read_encoding(document.root);
}

}  // namespace crayon
