#include "crayon/encoding.h"

#include <algorithm>

namespace crayon {
namespace {

template <typename T>
void extend(std::vector<T>* to, std::vector<T>& from) {
    if (to->empty() && to->capacity() < from.size())
        to->swap(from);
    else
        to->insert(to->end(), from.begin(), from.end());
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

}  // namespace

void set_sequence(Encoding* encoding, uint32_t sequence) {
    place(&encoding->ranges, {sequence, 0, uint32_t(encoding->size())});
}

void append(Encoding* to, Encoding&& from) {
    const uint32_t shift = uint32_t(to->size());
    for (const SequenceRange& range : from.ranges)
        place(&to->ranges, {range.sequence, range.start + shift, range.end + shift});
    for (TokenText& text : from.texts) to->texts.push_back({text.index + shift, std::move(text.text)});
    extend(&to->ids, from.ids);
    extend(&to->type_ids, from.type_ids);
    extend(&to->offsets, from.offsets);
    extend(&to->words, from.words);
    extend(&to->special, from.special);
    extend(&to->attention, from.attention);
}

void update_sequences(Encoding* encoding) {
    encoding->n_sequences = encoding->ranges.empty() ? 1 : uint32_t(encoding->ranges.size());
    encoding->sequences.assign(encoding->size(), kNoSequence);
    for (uint32_t sequence = 0; sequence < encoding->n_sequences; ++sequence) {
        const auto [start, end] = range_of(*encoding, sequence);
        std::fill(encoding->sequences.begin() + ptrdiff_t(start), encoding->sequences.begin() + ptrdiff_t(end),
                  int32_t(sequence));
    }
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
    // The token after the last is of sequence 0 when no sequence was set: the reference compares so.
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
