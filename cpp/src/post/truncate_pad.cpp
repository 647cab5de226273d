#include "crayon/post/truncate_pad.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "crayon/support/error.h"

namespace crayon {
namespace {

template <typename T>
std::vector<T> cut(const std::vector<T>& values, size_t start, size_t stop) {
    return {values.begin() + ptrdiff_t(start), values.begin() + ptrdiff_t(stop)};
}

std::vector<TokenText> cut_texts(const std::vector<TokenText>& texts, size_t start, size_t stop) {
    std::vector<TokenText> out;
    const auto first = std::partition_point(
        texts.begin(), texts.end(), [&](const TokenText& text) { return size_t(text.index) + text.count <= start; });
    for (auto text = first; text != texts.end() && text->index < stop; ++text) {
        const size_t from = std::max<size_t>(text->index, start);
        const size_t to = std::min(size_t(text->index) + text->count, stop);
        out.push_back({uint32_t(from - start), text->text, uint32_t(to - from)});
    }
    return out;
}

// Copies the tokens [start, stop), without Encoding::ranges, as Hugging Face tokenizers (the reference) does.
Encoding piece_of(const Encoding& e, size_t start, size_t stop) {
    Encoding out;
    out.ids = cut(e.ids, start, stop);
    out.type_ids = cut(e.type_ids, start, stop);
    out.offsets = cut(e.offsets, start, stop);
    out.words = cut(e.words, start, stop);
    out.special = cut(e.special, start, stop);
    out.attention = cut(e.attention, start, stop);
    if (!e.texts.empty()) out.texts = cut_texts(e.texts, start, stop);
    return out;
}

template <typename T>
void put_padding(std::vector<T>* values, size_t count, Side side, const T& value) {
    values->insert(side == Side::left ? values->begin() : values->end(), count, value);
}

void check_padded_length(size_t length) {
    if (length > std::numeric_limits<uint32_t>::max())
        throw Error(ErrorKind::argument, "padding to " + std::to_string(length) + " tokens, which is more than 2^32-1");
}

}  // namespace

void truncate(Encoding* encoding, size_t max_length, size_t stride, Side side) {
    const size_t size = encoding->size();
    if (max_length >= size) return;
    if (max_length == 0) {
        Encoding whole = std::move(*encoding);
        *encoding = Encoding();
        encoding->overflowing.push_back(std::move(whole));
        return;
    }
    if (stride >= max_length)
        throw Error(ErrorKind::argument, "stride " + std::to_string(stride) + " is not less than max_length " +
                                             std::to_string(max_length) + ", after room for the special tokens");
    const size_t step = max_length - stride;
    std::vector<Encoding> pieces;
    if (side == Side::right) {
        for (size_t start = 0;; start += step) {
            const size_t stop = std::min(start + max_length, size);
            pieces.push_back(piece_of(*encoding, start, stop));
            if (stop == size) break;
        }
    } else {
        for (size_t stop = size;; stop -= step) {
            const size_t start = stop > max_length ? stop - max_length : 0;
            pieces.push_back(piece_of(*encoding, start, stop));
            if (start == 0) break;
        }
    }
    *encoding = std::move(pieces[0]);
    encoding->overflowing.assign(std::make_move_iterator(pieces.begin() + 1), std::make_move_iterator(pieces.end()));
}

bool truncate_sizes(const Truncation& truncation, size_t most, size_t* first, size_t* pair) {
    const size_t total = *first + (pair != nullptr ? *pair : 0);
    if (total <= most) return true;
    const bool is_first = truncation.strategy == Truncation::Strategy::only_first;
    if (most == 0) {
        *first = 0;
        if (pair != nullptr) *pair = 0;
    } else if (is_first || truncation.strategy == Truncation::Strategy::only_second) {
        size_t* const target = is_first ? first : pair;
        if (target == nullptr || *target <= total - most) return false;
        *target -= total - most;
    } else if (pair == nullptr) {
        *first = most;
    } else {  // the longer sequence loses tokens first, then both equally
        size_t shorter = std::min(*first, *pair), longer = shorter > most ? shorter : std::max(shorter, most - shorter);
        if (shorter + longer > most) {
            shorter = most / 2;
            longer = shorter + most % 2;
        }
        const bool first_is_longer = *first > *pair;
        *first = first_is_longer ? longer : shorter;
        *pair = first_is_longer ? shorter : longer;
    }
    return true;
}

void truncate(Encoding* first, Encoding* pair, const Truncation& truncation, size_t most) {
    size_t n_first = first->size(), n_pair = pair != nullptr ? pair->size() : 0;
    if (!truncate_sizes(truncation, most, &n_first, pair != nullptr ? &n_pair : nullptr)) {
        const bool lacks_second = truncation.strategy == Truncation::Strategy::only_second && pair == nullptr;
        throw Error(ErrorKind::argument,
                    lacks_second
                        ? "Truncation error: Second sequence not provided"
                        : "Truncation error: Sequence to truncate too short to respect the provided max_length");
    }
    truncate(first, n_first, truncation.stride, truncation.side);
    if (pair != nullptr) truncate(pair, n_pair, truncation.stride, truncation.side);
}

size_t padded_length(size_t longest, const Padding& padding) {
    size_t length = padding.is_fixed ? padding.length : longest;
    const size_t multiple = padding.multiple_of;
    if (multiple > 0 && length % multiple > 0) length += multiple - length % multiple;  // wraps in the reference, too
    check_padded_length(length);
    return length;
}

void pad(Encoding* encoding, size_t length, const Padding& padding) {
    check_padded_length(length);
    for (Encoding& other : encoding->overflowing) pad(&other, length, padding);
    if (encoding->size() >= length) return;
    Encoding& e = *encoding;
    const size_t size = e.size(), count = length - size;
    // Allocates all memory first, so that running out of memory changes nothing.
    e.ids.reserve(length);
    e.type_ids.reserve(length);
    e.offsets.reserve(length);
    e.words.reserve(length);
    e.special.reserve(length);
    e.attention.reserve(length);
    const Side side = padding.side;
    const uint32_t shift = side == Side::left ? uint32_t(count) : 0;
    TokenText text{side == Side::left ? 0 : uint32_t(size), padding.pad_token, uint32_t(count)};
    for (TokenText& known : e.texts) known.index += shift;
    e.texts.insert(side == Side::left ? e.texts.begin() : e.texts.end(), std::move(text));
    for (SequenceRange& range : e.ranges) {
        range.start += shift;
        range.end += shift;
    }
    put_padding(&e.ids, count, side, padding.pad_id);
    put_padding(&e.type_ids, count, side, padding.pad_type_id);
    put_padding(&e.offsets, count, side, Offset{0, 0});
    put_padding(&e.words, count, side, kNoWord);
    put_padding(&e.special, count, side, uint8_t(1));
    put_padding(&e.attention, count, side, uint8_t(0));
}

void pad(std::vector<Encoding>* encodings, const Padding& padding) {
    if (encodings->empty()) return;
    size_t longest = 0;
    for (const Encoding& encoding : *encodings) longest = std::max(longest, encoding.size());
    const size_t length = padded_length(longest, padding);
    for (Encoding& encoding : *encodings) pad(&encoding, length, padding);
}

}  // namespace crayon
