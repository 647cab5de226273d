#include "crayon/post/encoding.h"

#include <algorithm>

#include "crayon/support/huge_pages.h"

namespace crayon {
namespace {

template <typename T>
void extend(std::vector<T>* to, std::vector<T>& from) {
    if (to->empty() && to->capacity() < from.size())
        to->swap(from);
    else
        to->insert(to->end(), from.begin(), from.end());
}

template <typename T>
void reserve(std::vector<T>* values, size_t size) {
    values->reserve(size);
    advise_huge_pages(values->data(), size * sizeof(T));
}

void place(std::vector<SequenceRange>* ranges, const SequenceRange& range) {
    for (SequenceRange& known : *ranges) {
        if (known.sequence == range.sequence) {
            known = range;
            return;
        }
    }
    ranges->push_back(range);
}

IndexPair range_of(const Encoding& encoding, size_t sequence) {
    for (const SequenceRange& range : encoding.ranges)
        if (range.sequence == sequence) return {range.start, range.end};
    return {0, encoding.size()};
}

// Appends the tokens of `from`, without its overflowing encodings.
void append_tokens(Encoding* to, Encoding&& from, bool growing_offsets) {
    const uint32_t shift = uint32_t(to->size());
    for (const SequenceRange& range : from.ranges)
        place(&to->ranges, {range.sequence, range.start + shift, range.end + shift});
    for (TokenText& text : from.texts) to->texts.push_back({text.index + shift, std::move(text.text), text.count});
    if (growing_offsets && !to->offsets.empty()) {
        const uint32_t grown = to->offsets.back().end;
        for (Offset& offset : from.offsets) offset = {offset.start + grown, offset.end + grown};
    }
    extend(&to->ids, from.ids);
    extend(&to->type_ids, from.type_ids);
    extend(&to->offsets, from.offsets);
    extend(&to->words, from.words);
    extend(&to->special, from.special);
    extend(&to->attention, from.attention);
}

Encoding joined(const Encoding& first, const Encoding& second, bool growing_offsets) {
    Encoding out = first;
    append(&out, Encoding(second), growing_offsets);
    return out;
}

}  // namespace

void set_sequence(Encoding* encoding, size_t sequence) {
    place(&encoding->ranges, {sequence, 0, uint32_t(encoding->size())});
}

void append(Encoding* to, Encoding&& from, bool growing_offsets) {
    std::vector<Encoding> overflowing;
    for (const Encoding& mine : to->overflowing) {
        overflowing.push_back(joined(mine, from, growing_offsets));
        for (const Encoding& other : from.overflowing) overflowing.push_back(joined(mine, other, growing_offsets));
    }
    for (const Encoding& other : from.overflowing) overflowing.push_back(joined(*to, other, growing_offsets));
    append_tokens(to, std::move(from), growing_offsets);
    to->overflowing = std::move(overflowing);
}

Encoding join(EncodingPart* parts, size_t n) {
    if (n == 1) return std::move(parts[0].encoding);
    size_t size = 0;
    for (size_t i = 0; i < n; ++i) size += parts[i].encoding.size();
    Encoding out;
    reserve(&out.ids, size);
    reserve(&out.type_ids, size);
    reserve(&out.offsets, size);
    reserve(&out.words, size);
    reserve(&out.special, size);
    reserve(&out.attention, size);
    uint32_t characters = 0;
    int32_t words = 0;
    for (size_t i = 0; i < n; ++i) {
        Encoding part = std::move(parts[i].encoding);
        for (Offset& offset : part.offsets) offset = {offset.start + characters, offset.end + characters};
        for (int32_t& word : part.words) word += words;
        append_tokens(&out, std::move(part), false);
        characters += parts[i].characters;
        words += parts[i].words;
    }
    return out;
}

size_t n_sequences(const Encoding& encoding) {
    return std::max<size_t>(1, encoding.ranges.size());
}

std::vector<int32_t> sequence_ids(const Encoding& encoding) {
    std::vector<int32_t> out(encoding.size(), kNoSequence);
    for (size_t sequence = 0; sequence < n_sequences(encoding); ++sequence) {
        const auto [start, end] = range_of(encoding, sequence);
        std::fill(out.begin() + ptrdiff_t(start), out.begin() + ptrdiff_t(end), int32_t(sequence));
    }
    return out;
}

void own_texts(Encoding* encoding, const TokenStringOf& string_of) {
    std::vector<TokenText> texts;
    texts.reserve(encoding->size());
    for_each_text(*encoding, string_of, [&](size_t i, const std::string& text) {
        texts.push_back({uint32_t(i), text});
    });
    encoding->texts = std::move(texts);
    for (Encoding& other : encoding->overflowing) own_texts(&other, string_of);
}

std::optional<IndexPair> word_to_tokens(const Encoding& encoding, uint32_t word, size_t sequence) {
    const auto [start, end] = range_of(encoding, sequence);
    std::optional<IndexPair> found;
    for (size_t i = start; i < end; ++i) {
        const int32_t at = encoding.words[i];
        if (at == kNoWord) continue;
        if (uint32_t(at) > word) break;
        if (uint32_t(at) == word) found = IndexPair{found ? found->first : i, i + 1};
    }
    return found;
}

std::optional<Offset> word_to_chars(const Encoding& encoding, uint32_t word, size_t sequence) {
    const std::optional<IndexPair> tokens = word_to_tokens(encoding, word, sequence);
    if (!tokens) return std::nullopt;
    return Offset{encoding.offsets[tokens->first].start, encoding.offsets[tokens->second - 1].end};
}

std::optional<size_t> token_to_sequence(const Encoding& encoding, size_t token) {
    // As in Hugging Face tokenizers, the index after the last token counts as sequence 0 if no sequence was set.
    if (token > encoding.size()) return std::nullopt;
    if (encoding.ranges.empty()) return 0;
    for (const SequenceRange& range : encoding.ranges)
        if (token >= range.start && token < range.end) return range.sequence;
    return std::nullopt;
}

std::optional<Offset> token_to_chars(const Encoding& encoding, size_t token) {
    if (!token_to_sequence(encoding, token) || token >= encoding.size()) return std::nullopt;
    return encoding.offsets[token];
}

std::optional<uint32_t> token_to_word(const Encoding& encoding, size_t token) {
    if (!token_to_sequence(encoding, token) || token >= encoding.size()) return std::nullopt;
    if (encoding.words[token] == kNoWord) return std::nullopt;
    return uint32_t(encoding.words[token]);
}

std::optional<size_t> char_to_token(const Encoding& encoding, size_t position, size_t sequence) {
    const auto [start, end] = range_of(encoding, sequence);
    for (size_t i = start; i < end; ++i)
        if (position >= encoding.offsets[i].start && position < encoding.offsets[i].end) return i;
    return std::nullopt;
}

std::optional<uint32_t> char_to_word(const Encoding& encoding, size_t position, size_t sequence) {
    const std::optional<size_t> token = char_to_token(encoding, position, sequence);
    return token ? token_to_word(encoding, *token) : std::nullopt;
}

}  // namespace crayon
