// The backtracking machine. Its stack is a vector, so no text can overflow the thread's stack.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "crayon/regex/regex.h"
#include "crayon/support/error.h"
#include "regex/regex_program.h"
#include "regex/regex_syntax.h"

namespace crayon::regex {

// Limits of backtracking. Oniguruma in tokenizers gives up after 10 million steps in one attempt, without a limit of
// attempts.
constexpr uint64_t kAttemptBudget = 10'000'000;
constexpr uint64_t kAttemptBudgetPerByte = 16;
constexpr uint64_t kBudget = 1 << 26;
constexpr uint64_t kBudgetPerByte = 1024;
constexpr uint64_t kBytesPerStep = 16;  // a loop takes one step for this many bytes
constexpr size_t kMaxFrames = size_t(1) << 25;
constexpr size_t kKeptFrames = size_t(1) << 15;

inline size_t char_size(uint8_t lead) {
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Decodes the character at `p`, of `size` bytes. The text is valid UTF-8; where its end cuts a character, only the
// existing bytes are read.
inline uint32_t decode(const uint8_t* p, size_t size) {
    switch (size) {
        case 2:
            return uint32_t(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
        case 3:
            return uint32_t(p[0] & 0x0F) << 12 | uint32_t(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        case 4:
            return uint32_t(p[0] & 0x07) << 18 | uint32_t(p[1] & 0x3F) << 12 | uint32_t(p[2] & 0x3F) << 6 |
                   (p[3] & 0x3F);
        default:
            return p[0];
    }
}

struct Frame {
    enum Kind : uint32_t { branch, choice, loop, loop_lazy, step_back, set_register, limit };
    Kind kind;
    uint32_t at;  // instruction or register
    const uint8_t* place;
    uint64_t value;
};

class Machine {
  public:
    Machine(const Code& code, Bytes text)
        : code_(code),
          begin_(text.data),
          end_(text.data + text.size),
          attempt_budget_(kAttemptBudget + kAttemptBudgetPerByte * text.size),
          left_(kBudget + kBudgetPerByte * text.size),
          stack_(&frames()) {
        if (code.registers > kInlineRegisters) more_registers_.resize(code.registers);
        registers_ = more_registers_.empty() ? inline_registers_ : more_registers_.data();
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() {
        if (frames().capacity() > kKeptFrames) std::vector<Frame>().swap(frames());
    }

    bool find(size_t from, Regex::Match* match) {
        const uint8_t* start = begin_ + from;
        search_start_ = start;
        for (;; start += char_size(*start)) {
            if (!code_.anywhere) {
                while (start < end_ && !code_.first[*start]) ++start;
                if (start >= end_) return false;
            }
            if (code_.at_start && start != begin_) return false;
            if (!code_.needs.empty() && !has_needs(start)) return false;
            const uint8_t* stop = attempt(start);
            if (stop != nullptr) {
                *match = {size_t(start - begin_), size_t(stop - begin_)};
                return true;
            }
            if (start >= end_) return false;
            if (size_t(end_ - start) < char_size(*start)) return false;
        }
    }

  private:
    static constexpr size_t kInlineRegisters = 16;

    static std::vector<Frame>& frames() {
        thread_local std::vector<Frame> stack;
        return stack;
    }

    void spend(uint64_t steps) {
        if (steps > budget_) give_up();
        budget_ -= steps;
    }
    const uint8_t* attempt(const uint8_t* start) {
        const uint64_t budget = std::min(attempt_budget_, left_);
        budget_ = budget;
        const uint8_t* stop = run(start);
        if (stop == nullptr) spend(1);
        left_ -= budget - budget_;
        return stop;
    }
    [[noreturn]] void give_up() const {
        fail(ErrorKind::argument, code_.pattern, "too many ways to match this text: the search was given up");
    }

    void push(Frame::Kind kind, uint32_t at, const uint8_t* place, uint64_t value = 0) {
        if (stack_->size() >= kMaxFrames) give_up();
        stack_->push_back({kind, at, place, value});
    }

    void set_register(uint32_t number, uint64_t value) {
        push(Frame::set_register, number, nullptr, registers_[number]);
        registers_[number] = value;
    }

    // The size of the character at p if it is in the set and ends by the limit; otherwise 0.
    size_t matches(const MatchSet& set, const uint8_t* p) const {
        if (p >= limit_) return 0;
        const uint8_t kind = set.first[*p];
        if (kind == MatchSet::none) return 0;
        const size_t size = char_size(*p);
        if (size_t(limit_ - p) < size) return 0;
        return kind == MatchSet::all || set.contains(decode(p, size)) ? size : 0;
    }

    const uint8_t* back(const uint8_t* p) const {
        do --p;
        while (p > begin_ && (*p & 0xC0) == 0x80);
        return p;
    }

    bool follows_member(const MatchSet& set, const uint8_t* p) const {
        if (p == begin_) return false;
        const uint8_t* previous = back(p);
        const uint8_t kind = set.first[*previous];
        if (kind != MatchSet::some) return kind == MatchSet::all;
        return set.contains(decode(previous, std::min(char_size(*previous), size_t(p - previous))));
    }

    bool is_word_at(const uint8_t* p) const {
        const MatchSet& set = code_.sets[code_.word_set];
        if (p >= end_ || set.first[*p] == MatchSet::none) return false;
        const size_t size = std::min(char_size(*p), size_t(end_ - p));
        return set.first[*p] == MatchSet::all || set.contains(decode(p, size));
    }
    bool at_word_boundary(const uint8_t* p) const {
        return is_word_at(p) != follows_member(code_.sets[code_.word_set], p);
    }

    // Runs over as many characters of the set as possible, at most `max`. `*least` gets the place after the first
    // `min`, or null.
    const uint8_t* run_over(const MatchSet& set, const uint8_t* p, uint32_t min, uint32_t max, const uint8_t** least) {
        const uint8_t* begin = p;
        uint32_t count = 0;
        *least = min == 0 ? p : nullptr;
        if (max == kInfinite && min <= 1) {
            while (p < limit_ && *p < 0x80 && set.first[*p] != MatchSet::none) ++p;
            if (p > begin && min == 1) *least = begin + 1;
            count = p > begin;
        }
        while (count < max && p < limit_) {
            const uint8_t byte = *p;
            const uint8_t kind = set.first[byte];
            if (kind == MatchSet::none) break;
            if (byte < 0x80) {
                ++p;
            } else {
                const size_t size = char_size(byte);
                if (size_t(limit_ - p) < size) break;
                if (kind == MatchSet::some && !set.contains(decode(p, size))) break;
                p += size;
            }
            if (++count == min) *least = p;
        }
        spend(uint64_t(p - begin) / kBytesPerStep);
        return p;
    }

    // Returns the last place from `p` down to `least` where the next byte passes the filter, or null if none does.
    const uint8_t* last_passing(const ByteSet& filter, const uint8_t* p, const uint8_t* least) {
        const uint8_t* begin = p;
        if (p >= limit_) {
            if (p == least) return nullptr;
            --p;
        }
        while (p > least && !filter[*p]) --p;
        spend(uint64_t(begin - p) / kBytesPerStep);
        return filter[*p] ? p : nullptr;
    }

    bool has_needs(const uint8_t* start);
    const uint8_t* next_needed(const Need& need, const uint8_t* start) const;
    const uint8_t* run(const uint8_t* p) {
        stack_->clear();
        limit_ = end_;
        uint32_t pc = 0;
        for (;;) {
            if (const uint8_t* stop = advance(pc, p)) return stop;
            if (!resume(&pc, &p)) return nullptr;
        }
    }
    const uint8_t* advance(uint32_t pc, const uint8_t* p);
    bool resume(uint32_t* pc, const uint8_t** place);

    const Code& code_;
    const uint8_t* begin_;
    const uint8_t* end_;
    const uint8_t* limit_ = nullptr;  // the end of readable text: less than end_ in look-behind
    const uint8_t* search_start_ = nullptr;
    const uint64_t attempt_budget_;
    uint64_t left_;                                      // steps left for all attempts
    uint64_t budget_ = 0;                                // steps left for this attempt
    std::array<const uint8_t*, kMaxNeeds> needed_at_{};  // where each need was last found
    std::vector<Frame>* const stack_;
    uint64_t* registers_;
    uint64_t inline_registers_[kInlineRegisters];
    std::vector<uint64_t> more_registers_;
};

}  // namespace crayon::regex
