#include "training/train_symbols.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "unicode/byte_level.h"
#include "unicode/utf8_chars.h"

namespace crayon {
namespace {

constexpr uint32_t kCodePoints = 0x110000;
constexpr uint32_t kNone = TrainingWords::kNone;

// Calls visit(code point) for each character of a word. The characters of a raw word are those of its spelling.
template <typename Visit>
void for_each_character(const CountedWord& word, Visit&& visit) {
    if (word.is_raw) {
        for (const uint8_t byte : word.text) visit(byte_level_char(byte));
        return;
    }
    for (const uint8_t* p = word.text.begin(); p < word.text.end();) {
        const Character c = character_at(p, word.text.end());
        visit(c.code_point);
        p += c.size;
    }
}

// Returns counts by code point. Calls on_word() for each word. `total` gets the number of characters of unique words.
template <typename OnWord>
std::vector<uint64_t> count_characters(const std::vector<CountedWord>& words, size_t* total, OnWord&& on_word) {
    std::vector<uint64_t> counts(kCodePoints, 0);
    for (const CountedWord& word : words) {
        on_word();
        for_each_character(word, [&](uint32_t c) {
            const uint64_t sum = counts[c] + word.count;
            counts[c] = sum < word.count ? ~uint64_t(0) : sum;
            ++*total;
        });
    }
    return counts;
}

bool begins_character(char byte) {
    return (uint8_t(byte) & 0xC0) != 0x80;
}

std::string utf8(uint32_t code_point) {
    std::string text;
    append_utf8(code_point, &text);
    return text;
}

}  // namespace

TrainingSymbols::TrainingSymbols(const std::vector<CountedWord>& words, const BpeTrainerOptions& options,
                                 TrainingReport* report)
    : options_(options) {
    for (const std::string& token : options.special_tokens) id_of(token);

    report->begin("Compute alphabet", words.size());
    uint64_t done = 0;
    std::vector<uint64_t> counts = count_characters(words, &characters_, [&] { report->at_times(++done); });
    for (const uint32_t c : options.initial_alphabet) {
        if (c >= kCodePoints)
            throw Error(ErrorKind::argument, "the initial alphabet has something that is not a code point");
        counts[c] = ~uint64_t(0);
    }
    std::vector<uint32_t> alphabet;
    for (uint32_t c = 0; c < kCodePoints; ++c) {
        if (counts[c] > 0) alphabet.push_back(c);
    }
    if (options.limit_alphabet && alphabet.size() > *options.limit_alphabet) {
        const size_t dropped = alphabet.size() - *options.limit_alphabet;
        std::stable_sort(alphabet.begin(), alphabet.end(),
                         [&](uint32_t a, uint32_t b) { return counts[a] < counts[b]; });
        alphabet.erase(alphabet.begin(), alphabet.begin() + std::ptrdiff_t(dropped));
        std::sort(alphabet.begin(), alphabet.end());
    }
    for (const uint32_t c : alphabet) id_of(utf8(c));

    // A special token of one character is in the alphabet, too.
    for (uint32_t id = 0; id < strings_.size(); ++id) {
        const Bytes bytes(strings_[id]);
        if (bytes.empty()) continue;
        const Character c = character_at(bytes.begin(), bytes.end());
        if (c.size != bytes.size) continue;
        if (c.code_point >= of_character_.size()) of_character_.resize(c.code_point + 1, kNone);
        of_character_[c.code_point] = id;
    }
}

TrainingSymbols::TrainingSymbols(std::vector<std::string> tokens, const std::vector<uint32_t>& reusable,
                                 const BpeTrainerOptions& options)
    : options_(options), is_extension_(true), strings_(std::move(tokens)), reusable_(strings_.size(), false) {
    if (strings_.size() >= TrainingWords::kSymbols) throw Error(ErrorKind::argument, "the vocabulary is too large");
    for (uint32_t id = 0; id < strings_.size(); ++id)
        if (!strings_[id].empty()) ids_.emplace(strings_[id], id);
    for (const uint32_t id : reusable) reusable_.at(id) = true;
}

uint32_t TrainingSymbols::id_of(const std::string& string) {
    const auto [place, is_new] = ids_.emplace(string, uint32_t(strings_.size()));
    if (is_new) {
        if (strings_.size() >= TrainingWords::kSymbols) throw Error(ErrorKind::argument, "the vocabulary is too large");
        strings_.push_back(string);
    }
    return place->second;
}

std::string TrainingSymbols::joined(uint32_t left, uint32_t right) const {
    std::string_view tail = strings_[right];
    const std::string& prefix = options_.continuing_subword_prefix;
    if (tail.substr(0, prefix.size()) == prefix) tail.remove_prefix(prefix.size());
    return strings_[left] + std::string(tail);
}

uint32_t TrainingSymbols::join(uint32_t left, uint32_t right) {
    const uint32_t made = id_of(joined(left, right));
    if (made < reusable_.size()) is_met(made);
    return made;
}

bool TrainingSymbols::may_make(const std::string& product) const {
    const auto length = size_t(std::count_if(product.begin(), product.end(), begins_character));
    if (options_.max_token_length && length >= *options_.max_token_length) return false;
    const auto found = ids_.find(product);
    return found == ids_.end() || (found->second < reusable_.size() && reusable_[found->second]);
}

void TrainingSymbols::push_character(uint32_t c, bool is_first, bool is_last, TrainingWords* out) {
    if (c >= of_character_.size() || of_character_[c] == kNone) return;
    std::string string;
    if (!is_first) string = options_.continuing_subword_prefix;
    append_utf8(c, &string);
    if (is_last) string += options_.end_of_word_suffix;
    out->push(id_of(string));
}

TrainingWords TrainingSymbols::spell(const std::vector<CountedWord>& words, TrainingReport* report) {
    report->begin("Tokenize words", words.size());
    uint64_t done = 0;
    TrainingWords out;
    out.reserve(characters_ + words.size() + 1);
    if (options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty()) {
        for (const CountedWord& word : words) {
            report->at_times(++done);
            out.begin_word(word.count);
            for_each_character(word, [&](uint32_t c) {
                if (c < of_character_.size() && of_character_[c] != kNone) out.push(of_character_[c]);
            });
            out.end_word();
        }
        out.finish();
        return out;
    }
    // Symbols get ids in the order in which they first occur in the sorted words, so the order of counting does not
    // matter.
    std::vector<std::string> spelled(words.size());
    for (size_t i = 0; i < words.size(); ++i)
        spelled[i] = words[i].is_raw ? to_byte_level(words[i].text) : std::string(words[i].text.view());
    std::vector<size_t> order(words.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        report->at_times(0);
        return spelled[a] < spelled[b];
    });
    std::vector<uint32_t> characters;
    for (const size_t i : order) {
        report->at_times(++done);
        characters.clear();
        for_each_character(words[i], [&](uint32_t c) { characters.push_back(c); });
        out.begin_word(words[i].count);
        for (size_t k = 0; k < characters.size(); ++k)
            push_character(characters[k], k == 0, k + 1 == characters.size(), &out);
        out.end_word();
    }
    out.finish();
    return out;
}

std::vector<std::pair<std::string, uint64_t>> word_characters(const std::vector<CountedWord>& words) {
    size_t total = 0;
    const std::vector<uint64_t> counts = count_characters(words, &total, [] {});
    std::vector<std::pair<std::string, uint64_t>> characters;
    for (uint32_t c = 0; c < kCodePoints; ++c)
        if (counts[c] > 0) characters.emplace_back(utf8(c), counts[c]);
    return characters;
}

}  // namespace crayon
