// Parses JSON, regular expressions, character maps and single components. Input: the parser, then the data; a NUL
// separates two texts.
#include <algorithm>

#include "crayon/json/json.h"
#include "crayon/normalizers/normalizers.h"
#include "crayon/post/encoding.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/regex/regex.h"
#include "crayon/support/error.h"
#include "crayon/unicode/unicode.h"
#include "json_mutator.h"
#include "support.h"

using namespace crayon;

namespace {

std::pair<Bytes, Bytes> halves(Bytes data) {
    size_t at = 0;
    while (at < data.size && data[at] != 0) ++at;
    return {data.slice(0, at), data.slice(std::min(at + 1, data.size), data.size)};
}

bool is_valid(Bytes text) {
    return utf8_error(text.data, text.size) == text.size;
}

// Checks that a document that was parsed and written is parsed again, and then written equally.
void check_json(Bytes data) {
    const json::Document document = json::parse(data.view());
    fuzz::require(is_valid(data), "JSON that is not UTF-8");
    const std::string text = json::serialize(document.root);
    const json::Document again = json::parse(text);
    fuzz::require(json::serialize(again.root) == text, "JSON that is not written as it was read", text);
}

void check_encoding(Bytes data) {
    const auto string_of = [](uint32_t id) { return std::to_string(id); };
    const Encoding encoding = encoding_from_json(data.view());
    const std::string text = to_json(encoding, string_of);
    fuzz::require(to_json(encoding_from_json(text), string_of) == text, "an Encoding does not come back", text);
}

void check_regex(Bytes data) {
    const auto [pattern, rest] = halves(data);
    const std::string text = fuzz::text_of(rest);
    const Regex regex = Regex::compile(pattern.view());
    std::vector<Regex::Match> matches;
    regex.find_all(text, &matches);
    size_t end = 0;
    for (const Regex::Match& match : matches) {
        fuzz::require(match.start >= end && match.start <= match.end && match.end <= text.size(), "matches overlap",
                      text);
        const bool inside = match.start < text.size() && (uint8_t(text[match.start]) & 0xC0) == 0x80;
        fuzz::require(!inside, "a match begins inside a character", text);
        Regex::Match same;
        fuzz::require(regex.find(text, match.start, &same) && same.start == match.start, "a match is not found again",
                      text);
        end = match.end;
    }
    // A search from the start must find the first of all matches.
    Regex::Match first;
    const bool found = regex.find(text, 0, &first);
    fuzz::require(found == !matches.empty() && (!found || first.start == matches[0].start), "find against find_all",
                  text);
}

std::string base64(Bytes data) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < data.size; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < data.size ? data[i + k] : 0);
        for (size_t k = 0; k < 4; ++k) out += i + k > data.size ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    return out;
}

AlignedText normalized(const Normalizer& normalizer, const std::string& text, bool aligned) {
    AlignedText out;
    out.assign(text, aligned);
    normalizer.normalize(&out);
    return out;
}

// Checks that a normalizer gives valid UTF-8, the same with and without alignments, and that `leaves` is right.
void check_normalizer(const Normalizer& normalizer, const std::string& text) {
    const AlignedText with = normalized(normalizer, text, true), without = normalized(normalizer, text, false);
    fuzz::require(is_valid(with.text), "a normalizer's text is not UTF-8", with.text);
    fuzz::require(with.text == without.text, "a normalizer depends on alignments", with.text + "\n" + without.text);
    fuzz::require(with.alignments.size() == with.text.size(), "alignments are missing");
    for (const Alignment& alignment : with.alignments)
        fuzz::require(alignment.start <= alignment.end && alignment.end <= text.size(), "an alignment outside the text",
                      text);
    if (normalizer.leaves(text)) fuzz::require(with.text == text, "a normalizer changes what it leaves", text);
    normalizer.keeps_words(text);
    normalizer.shifts(text);
}

void check_charsmap(Bytes data) {
    fuzz::Input input(data.data, data.size);
    const Bytes text = input.take(input.byte() & 63);
    const std::string map = base64(input.rest());
    const std::string source = R"({"type":"Precompiled","precompiled_charsmap":")" + map + "\"}";
    const json::Document component = json::parse(source);
    const auto normalizer = make_normalizer(component.root);
    check_normalizer(*normalizer, fuzz::text_of(text));
    check_normalizer(*normalizer, "\xC3\xA9 e\xCC\x81\xEF\xBC\x86 \xE2\x91\xA0 abc");
}

void check_component(Bytes data) {
    fuzz::Input input(data.data, data.size);
    const std::string& component = fuzz::components()[input.byte() % fuzz::components().size()];
    const std::string text = fuzz::text_of(input.rest());
    const json::Document document = json::parse(component);
    std::unique_ptr<Normalizer> normalizer;
    try {
        normalizer = make_normalizer(document.root);
    } catch (const Error&) {
    }
    if (normalizer != nullptr) check_normalizer(*normalizer, text);
    PreTokenizerOptions options;
    const auto pre_tokenizer = make_pre_tokenizer(document.root, options);
    PieceList list;
    list.text.assign(text, true);
    if (!text.empty()) list.pieces.push_back({0, uint32_t(text.size())});
    pre_tokenizer->split(&list);
    size_t end = 0;
    for (const Piece& piece : list.pieces) {
        fuzz::require(piece.start >= end && piece.start < piece.end && piece.end <= list.text.size(), "pieces", text);
        end = piece.end;
    }
    fuzz::require(is_valid(list.text.text), "a pre-tokenizer's text is not UTF-8", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static void (*const kTries[])(Bytes) = {check_json, check_encoding, check_regex, check_charsmap, check_component};
    if (size == 0) return 0;
    try {
        kTries[data[0] % std::size(kTries)](Bytes(data, size).slice(1, size));
    } catch (const Error& error) {
        fuzz::require(error.kind() != ErrorKind::cartridge, "an error of another kind", error.what());
    }
    return 0;
}
