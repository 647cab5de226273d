#include "encode/merger/byte_cuts.h"

#include <algorithm>

namespace crayon {
namespace {

constexpr size_t kBitsPerKey = 16;

bool is_tail(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

// Returns the number of bytes of a character with this first byte, or 0 if the byte begins no character.
uint32_t size_of(uint8_t lead) {
    if (lead < 0x80) return 1;
    if (lead < 0xC0 || lead >= 0xF8) return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

uint32_t number_of(const uint8_t* p, uint32_t size) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < size; ++i) number |= uint32_t(p[i]) << (8 * i);
    return number;
}

// The part of a string next to a border: a whole character, or a part of one cut by the string's end.
struct BorderChar {
    uint32_t size;  // 0: no character fits
    bool whole;
};

// The character, or part of one, that ends at `end`, in a string that begins at `begin`.
BorderChar part_before(const uint8_t* begin, const uint8_t* end) {
    uint32_t tails = 0;
    while (tails < 4 && end - begin > tails && is_tail(end[-1 - int(tails)])) ++tails;
    if (tails == 4) return {0, false};
    if (end - begin == tails) return {tails, false};
    return {size_of(end[-1 - int(tails)]) == tails + 1 ? tails + 1 : 0, true};
}

// The character, or part of one, that begins at `begin`, in a string that ends at `end`.
BorderChar part_after(const uint8_t* begin, const uint8_t* end) {
    const uint32_t size = size_of(*begin), here = uint32_t(std::min<ptrdiff_t>(size, end - begin));
    for (uint32_t i = 1; i < here; ++i)
        if (!is_tail(begin[i])) return {0, false};
    return {here, here == size};
}

}  // namespace

ByteCuts::ByteCuts(Array<uint64_t> section) : parts_(section.data), filter_(section.data + kPartWords) {
    while ((uint64_t(1) << (64 - shift_)) < section.size - kPartWords) --shift_;
}

// One side of the border is a part of a character, so the merged string begins or ends in the other character.
bool ByteCuts::joins_part(CharBytes left, CharBytes right) const {
    if (has(begin_key(left.bytes, right.bytes & 0xFF)) && joins_begin(left.bytes, right)) return true;
    if (left.size == 1 || !has(end_key(left.bytes >> (8 * (left.size - 1)), right.bytes & 0xFF))) return false;
    for (uint32_t n = 1; n < left.size; ++n) {
        const uint32_t end = left.bytes >> (8 * n);
        if (has(key(end, right.bytes)) || joins_begin(end, right)) return true;
    }
    return false;
}

bool ByteCuts::joins_begin(uint32_t left, CharBytes right) const {
    for (uint32_t n = 1; n < right.size; ++n)
        if (has(key(left, right.bytes & ((1u << (8 * n)) - 1)))) return true;
    return false;
}

class ByteCutsBuilder {
  public:
    void add(Bytes string) {
        const uint8_t *const begin = string.begin(), *const end = string.end();
        for (const uint8_t* border = begin + 1; border < end; ++border) {
            if (is_tail(*border) || (border[-1] | *border) < 0x80) continue;
            const BorderChar before = part_before(begin, border), after = part_after(border, end);
            if (before.size == 0 || after.size == 0) continue;
            const uint32_t left = number_of(border - before.size, before.size), right = number_of(border, after.size);
            keys_.push_back(ByteCuts::key(left, right));
            if (before.whole && after.whole) continue;
            keys_.push_back(before.whole ? ByteCuts::begin_key(left, *border) : ByteCuts::end_key(border[-1], *border));
            const size_t bit = ByteCuts::part_bit(border[-1], *border);
            parts_[bit >> 6] |= uint64_t(1) << (bit & 63);
        }
    }

    std::vector<uint64_t> finish() {
        std::sort(keys_.begin(), keys_.end());
        keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
        uint32_t shift = 64;
        while ((uint64_t(64) << (64 - shift)) < keys_.size() * kBitsPerKey) --shift;
        std::vector<uint64_t> words = std::move(parts_);
        words.resize(ByteCuts::kPartWords + (size_t(1) << (64 - shift)), 0);
        for (const uint64_t key : keys_) {
            const ByteCuts::FilterBits at = ByteCuts::place(key, shift);
            words[ByteCuts::kPartWords + at.word] |= at.bits;
        }
        return words;
    }

  private:
    std::vector<uint64_t> parts_ = std::vector<uint64_t>(ByteCuts::kPartWords, 0), keys_;
};

std::vector<uint64_t> build_byte_cuts(const std::vector<std::string_view>& strings) {
    ByteCutsBuilder builder;
    for (const std::string_view string : strings) builder.add(string);
    return builder.finish();
}

}  // namespace crayon
