// The unique words of a trainer, in one array: for each word a header with its count, then its symbols.
//
// Merging two neighbours frees slots. The freed slots store how far to skip over them, so a symbol takes only four
// bytes and a merge reads adjacent memory. A slot is one of:
//    0sssssss ssssssss ssssssss ssssssss: a symbol
//    10nnnnnn nnnnnnnn nnnnnnnn nnnnnnnn: a freed slot, with the number of symbols that were joined
//    110ccccc cccccccc cccccccc cccccccc: the header of a word, with its count
// 111iiiii iiiiiiii iiiiiiii iiiiiiii: the header of a word with a large count, which is large_counts_[i]
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "crayon/support/error.h"
#include "support/prefetch.h"

namespace crayon {

class TrainingWords {
  public:
    // A symbol's first slot.
    using Position = uint32_t;

    static constexpr uint32_t kSymbols = uint32_t(1) << 31;  // symbols are less than this
    static constexpr uint32_t kNone = ~uint32_t(0);

    void reserve(size_t slots) { slots_.reserve(slots); }
    void begin_word(uint64_t count) {
        start_ = slots_.size();
        if (count < kInline) {
            slots_.push_back(kHeader | uint32_t(count));
        } else {
            slots_.push_back(kHeader | kInline | uint32_t(large_counts_.size()));
            large_counts_.push_back(count);
        }
    }
    void push(uint32_t symbol) { slots_.push_back(symbol); }
    // Drops a word of fewer than two symbols, which has no pairs. Throws Error(argument) if positions cannot address
    // the words.
    void end_word() {
        const size_t size = slots_.size() - start_ - 1;
        if (size < 2) {
            slots_.resize(start_);
            return;
        }
        if (slots_.size() >= kNone || size > kLength)
            throw Error(ErrorKind::argument,
                        "the unique words have more than 4 billion characters, or one of them more than a billion: "
                        "train on less text, or with a pre-tokenizer that cuts it");
        pairs_ += size - 1;
        if (size > kNear) long_words_.push_back({Position(start_), Position(slots_.size())});
    }
    // Call it after the last word.
    void finish() { slots_.push_back(kHeader); }

    // Pairs of neighbours in all words, before any merge.
    size_t pairs() const { return pairs_; }
    void prefetch_at(Position p) const { prefetch(slots_.data() + p); }

    uint32_t symbol(Position p) const { return slots_[p]; }
    bool is_symbol(Position p) const { return slots_[p] < kSymbols; }
    // Returns the position after a symbol: that of the next symbol, or the end of the word.
    Position after(Position p) const { return p + length(p); }
    // The number of original symbols that were joined to make this one.
    uint32_t length(Position p) const { return is_free(slots_[p + 1]) ? slots_[p + 1] & kLength : 1; }
    // Returns the position of the previous symbol, or kNone at the start of the word.
    Position before(Position p) const {
        const uint32_t slot = slots_[p - 1];
        if (is_header(slot)) return kNone;
        return is_free(slot) ? p - (slot & kLength) : p - 1;
    }
    // Joins the symbol and the next one.
    void join(Position p, uint32_t symbol) {
        const Position second = after(p), end = after(second);
        slots_[p] = symbol;
        slots_[second] = kFree;  // positions that still refer to it find no symbol
        slots_[p + 1] = slots_[end - 1] = kFree | (end - p);
    }

    // Returns the position of the first symbol of the word that contains position `p`.
    Position first(Position p) {
        if (p > recent_.header && p < recent_.end) return recent_.header + 1;
        const Position stop = p > kNear ? p - kNear : 0;
        for (Position q = p; q-- > stop;) {
            if (is_header(slots_[q])) return q + 1;
        }
        const auto is_behind = [](Position position, const LongWord& word) { return position < word.header; };
        recent_ = *(std::upper_bound(long_words_.begin(), long_words_.end(), p, is_behind) - 1);
        return recent_.header + 1;
    }
    // The count of the word that begins here.
    uint64_t count(Position first) const {
        const uint32_t slot = slots_[first - 1] & ~kHeader;
        return slot & kInline ? large_counts_[slot & ~kInline] : slot;
    }

    // Calls visit(position, its symbol, the next one, the word's count) for all neighbours, in order.
    template <typename Visit>
    void for_each_pair(Visit&& visit) const {
        uint64_t count = 0;
        for (size_t i = 0; i + 1 < slots_.size(); ++i) {
            if (is_header(slots_[i])) {
                count = this->count(Position(i + 1));
            } else if (!is_header(slots_[i + 1])) {
                visit(Position(i), slots_[i], slots_[i + 1], count);
            }
        }
    }

  private:
    static constexpr uint32_t kFree = 0x80000000, kHeader = 0xC0000000, kLength = 0x3FFFFFFF, kInline = 0x20000000;
    static constexpr uint32_t kNear = 64;  // slots up to which walking is faster than a search in long_words_

    // A word of more than kNear symbols.
    struct LongWord {
        Position header, end;
    };

    static bool is_header(uint32_t slot) { return slot >= kHeader; }
    static bool is_free(uint32_t slot) { return slot >> 30 == 2; }

    std::vector<uint32_t> slots_;
    std::vector<uint64_t> large_counts_;
    std::vector<LongWord> long_words_;  // in order
    LongWord recent_ = {0, 0};          // the long word that first() found last
    size_t start_ = 0, pairs_ = 0;
};

}  // namespace crayon
