// The backtracking machine. Its stack is a vector, so that no text can exhaust the stack of the thread.
#include <algorithm>
#include <cstring>

#include "crayon/error.h"
#include "crayon/regex.h"
#include "regex_program.h"
#include "regex_syntax.h"

namespace crayon {

namespace {

using regex::Choice;
using regex::Code;
using regex::failure_table;
using regex::find_literal;
using regex::Instruction;
using regex::kInfinite;
using regex::kNoFilter;
using regex::MatchSet;
using regex::Op;

// Ways left to be tried. Oniguruma of tokenizers gives up after 10 million in one attempt, without an end to attempts.
constexpr uint64_t kBudget = 1 << 27;
constexpr uint64_t kBudgetPerByte = 4096;
constexpr uint64_t kBytesPerStep = 16;  // what a loop runs over counts, too, but less
constexpr size_t kMaxFrames = size_t(1) << 25;
constexpr size_t kKeptFrames = size_t(1) << 15;

size_t char_size(uint8_t lead) {
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// The text is valid UTF-8; what is cut off at the end is read as far as it is there.
uint32_t decode(const uint8_t* p, size_t size) {
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
    Machine(const Code& code, Bytes text, uint64_t budget)
        : code_(code), begin_(text.data), end_(text.data + text.size), budget_(budget), stack_(&frames()) {
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
            const uint8_t* stop = run(start);
            if (stop != nullptr) {
                *match = {size_t(start - begin_), size_t(stop - begin_)};
                return true;
            }
            spend(1);
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
    [[noreturn]] void give_up() const {
        regex::fail(ErrorKind::argument, code_.pattern, "too many ways to match this text: the search was given up");
    }

    void push(Frame::Kind kind, uint32_t at, const uint8_t* place, uint64_t value = 0) {
        if (stack_->size() >= kMaxFrames) give_up();
        stack_->push_back({kind, at, place, value});
    }

    void set_register(uint32_t number, uint64_t value) {
        push(Frame::set_register, number, nullptr, registers_[number]);
        registers_[number] = value;
    }

    // The size of the character at p, when it is in the set and ends by the limit; otherwise 0.
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

    // As many characters of the set as there are, `max` at most. `*least`: the place after the first `min`, or null.
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

    // The last place from `p` down to `least` where the next byte passes the filter; null when there is none.
    const uint8_t* last_passing(const regex::ByteSet& filter, const uint8_t* p, const uint8_t* least) {
        const uint8_t* begin = p;
        if (p >= limit_) {
            if (p == least) return nullptr;
            --p;
        }
        while (p > least && !filter[*p]) --p;
        spend(uint64_t(begin - p) / kBytesPerStep);
        return filter[*p] ? p : nullptr;
    }

    const uint8_t* run(const uint8_t* p) {
        stack_->clear();
        limit_ = end_;
        uint32_t pc = 0;
        for (;;) {
            if (const uint8_t* stop = advance(pc, p)) return stop;
            if (!resume(&pc, &p)) return nullptr;
        }
    }

    // Executes instructions from `pc` on until one fails: null, or the end of the match.
    const uint8_t* advance(uint32_t pc, const uint8_t* p) {
        const Instruction* const instructions = code_.instructions.data();
        bool good = true;
        while (good) {
            const Instruction& i = instructions[pc];
            switch (i.op) {
                case Op::text:
                    good = size_t(limit_ - p) >= i.b && std::memcmp(p, code_.bytes.data() + i.a, i.b) == 0;
                    if (good) p += i.b;
                    ++pc;
                    break;
                case Op::set: {
                    const size_t size = matches(code_.sets[i.a], p);
                    good = size != 0;
                    p += size;
                    ++pc;
                    break;
                }
                case Op::loop_final: {
                    if (i.c == 1) {
                        p += matches(code_.sets[i.a], p);
                        ++pc;
                        break;
                    }
                    const uint8_t* least;
                    p = run_over(code_.sets[i.a], p, i.b, i.c, &least);
                    good = least != nullptr;
                    ++pc;
                    break;
                }
                case Op::loop: {
                    const uint8_t* least;
                    p = run_over(code_.sets[i.a], p, i.b, i.c, &least);
                    good = least != nullptr;
                    if (good && i.d != kNoFilter) {
                        p = last_passing(code_.filters[i.d], p, least);
                        good = p != nullptr;
                    }
                    if (good && p > least) push(Frame::loop, pc, p, uint64_t(least - begin_));
                    ++pc;
                    break;
                }
                case Op::loop_lazy: {
                    const uint8_t* least;
                    p = run_over(code_.sets[i.a], p, i.b, i.b, &least);
                    good = least != nullptr;
                    if (good && i.c > i.b) push(Frame::loop_lazy, pc, p, i.c == kInfinite ? kInfinite : i.c - i.b);
                    if (good && i.d != kNoFilter) good = p < limit_ && code_.filters[i.d][*p];
                    ++pc;
                    break;
                }
                case Op::jump:
                    pc = i.a;
                    break;
                case Op::choose: {
                    const Choice& choice = code_.choices[i.a];
                    const uint64_t viable = choice.viable[p < limit_ ? *p : 256];
                    good = viable != 0;
                    if (!good) break;
                    const uint64_t others = viable & (viable - 1);
                    if (others != 0) push(Frame::choice, i.a, p, others);
                    pc = choice.targets[size_t(__builtin_ctzll(viable))];
                    break;
                }
                case Op::empty_begin:
                    set_register(i.a, uint64_t(p - begin_));
                    ++pc;
                    break;
                case Op::empty_end:
                    pc = registers_[i.a] == uint64_t(p - begin_) ? i.b : pc + 1;
                    break;
                case Op::count_begin:
                    set_register(i.a, 0);
                    ++pc;
                    break;
                case Op::count: {
                    const uint64_t count = registers_[i.a];
                    ++pc;
                    if (count < i.b) break;
                    if (count >= i.c && i.c != kInfinite) {
                        pc = i.d;
                    } else if (i.flag) {
                        push(Frame::branch, i.d, p);
                    } else {
                        push(Frame::branch, pc, p);
                        pc = i.d;
                    }
                    break;
                }
                case Op::count_next:
                    set_register(i.a, registers_[i.a] + 1);
                    pc = i.b;
                    break;
                case Op::final_begin:
                    registers_[i.a] = stack_->size();
                    ++pc;
                    break;
                case Op::final_end:
                    stack_->resize(registers_[i.a]);
                    ++pc;
                    break;
                case Op::look_begin:
                    registers_[i.a] = stack_->size();
                    registers_[i.a + 1] = uint64_t(p - begin_);
                    if (i.flag) push(Frame::branch, i.b, p);
                    ++pc;
                    break;
                case Op::look_end:
                    stack_->resize(registers_[i.a]);
                    p = begin_ + registers_[i.a + 1];
                    good = i.flag == 0;
                    ++pc;
                    break;
                case Op::step_back: {
                    uint32_t count = 0;
                    while (count < i.b && p > begin_) {
                        p = back(p);
                        ++count;
                    }
                    good = count == i.b;
                    if (good && i.c > i.b && p > begin_)
                        push(Frame::step_back, pc, p, i.c == kInfinite ? kInfinite : i.c - i.b);
                    ++pc;
                    break;
                }
                case Op::behind_begin:
                    push(Frame::limit, 0, limit_);
                    registers_[i.a] = uint64_t(limit_ - begin_);
                    limit_ = p;
                    ++pc;
                    break;
                case Op::behind_end:
                    good = uint64_t(p - begin_) == registers_[i.b + 1];
                    if (good) limit_ = begin_ + registers_[i.a];
                    ++pc;
                    break;
                case Op::next_set:
                    good = (matches(code_.sets[i.a], p) != 0) != (i.flag != 0);
                    ++pc;
                    break;
                case Op::previous_set:
                    good = follows_member(code_.sets[i.a], p) != (i.flag != 0);
                    ++pc;
                    break;
                case Op::begin_line:
                    good = p == begin_ || (p[-1] == '\n' && p < end_);
                    ++pc;
                    break;
                case Op::end_line:
                    good = p >= end_ || *p == '\n';
                    ++pc;
                    break;
                case Op::begin_text:
                    good = p == begin_;
                    ++pc;
                    break;
                case Op::end_text:
                    good = p >= end_;
                    ++pc;
                    break;
                case Op::end_text_or_last_newline:
                    good = p >= end_ || (*p == '\n' && p + 1 == end_);
                    ++pc;
                    break;
                case Op::search_start:
                    good = p == search_start_;
                    ++pc;
                    break;
                case Op::word_boundary:
                    good = at_word_boundary(p);
                    ++pc;
                    break;
                case Op::no_word_boundary:
                    good = !at_word_boundary(p);
                    ++pc;
                    break;
                case Op::match:
                    return p;
            }
        }
        return nullptr;
    }

    // Takes up the way that was left last; false when there is none.
    bool resume(uint32_t* pc, const uint8_t** place) {
        while (!stack_->empty()) {
            Frame& frame = stack_->back();
            spend(1);
            switch (frame.kind) {
                case Frame::branch:
                    *pc = frame.at;
                    *place = frame.place;
                    stack_->pop_back();
                    return true;
                case Frame::choice: {
                    const uint64_t viable = frame.value;
                    *pc = code_.choices[frame.at].targets[size_t(__builtin_ctzll(viable))];
                    *place = frame.place;
                    frame.value = viable & (viable - 1);
                    if (frame.value == 0) stack_->pop_back();
                    return true;
                }
                case Frame::loop: {
                    const Instruction& i = code_.instructions[frame.at];
                    const uint8_t* least = begin_ + frame.value;
                    const uint8_t* p = back(frame.place);
                    *pc = frame.at + 1;
                    if (i.d != kNoFilter) p = last_passing(code_.filters[i.d], p, least);
                    if (p == nullptr || p <= least)
                        stack_->pop_back();
                    else
                        frame.place = p;
                    if (p == nullptr) break;
                    *place = p;
                    return true;
                }
                case Frame::loop_lazy: {
                    const Instruction& i = code_.instructions[frame.at];
                    const uint8_t* p = frame.place;
                    uint64_t left = frame.value;
                    bool found = false;
                    while (!found && left > 0) {
                        const size_t size = matches(code_.sets[i.a], p);
                        if (size == 0) break;
                        p += size;
                        if (left != kInfinite) --left;
                        found = i.d == kNoFilter || (p < limit_ && code_.filters[i.d][*p]);
                    }
                    spend(uint64_t(p - frame.place) / kBytesPerStep);
                    *pc = frame.at + 1;
                    frame.place = p;
                    frame.value = left;
                    if (!found || left == 0) stack_->pop_back();
                    if (!found) break;
                    *place = p;
                    return true;
                }
                case Frame::step_back: {
                    const uint8_t* p = back(frame.place);
                    *pc = frame.at + 1;
                    *place = p;
                    frame.place = p;
                    if (frame.value != kInfinite) --frame.value;
                    if (p == begin_ || frame.value == 0) stack_->pop_back();
                    return true;
                }
                case Frame::set_register:
                    registers_[frame.at] = frame.value;
                    stack_->pop_back();
                    break;
                case Frame::limit:
                    limit_ = frame.place;
                    stack_->pop_back();
                    break;
            }
        }
        return false;
    }

    const Code& code_;
    const uint8_t* begin_;
    const uint8_t* end_;
    const uint8_t* limit_ = nullptr;  // what may be read: less than end_ in look-behind
    const uint8_t* search_start_ = nullptr;
    uint64_t budget_;
    std::vector<Frame>* const stack_;
    uint64_t* registers_;
    uint64_t inline_registers_[kInlineRegisters];
    std::vector<uint64_t> more_registers_;
};

uint64_t budget_for(Bytes text) {
    return kBudget + kBudgetPerByte * text.size;
}

}  // namespace

Regex::Regex(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex Regex::compile(std::string_view pattern) {
    auto program = std::make_unique<Program>();
    program->code = regex::compile(pattern);
    return Regex(std::move(program));
}

Regex Regex::literal(std::string_view text) {
    if (text.empty()) return compile("");
    auto program = std::make_unique<Program>();
    program->is_literal = true;
    program->literal = std::string(text);
    program->failure = failure_table(text);
    return Regex(std::move(program));
}

bool Regex::find(Bytes text, size_t from, Match* match) const {
    if (from > text.size) return false;
    if (!program_->is_literal) return Machine(program_->code, text, budget_for(text)).find(from, match);
    return find_literal(program_->literal, program_->failure, text, from, match);
}

void Regex::find_all(Bytes text, std::vector<Match>* matches) const {
    matches->clear();
    Match match;
    if (program_->is_literal) {
        for (size_t from = 0; find(text, from, &match); from = match.end) matches->push_back(match);
        return;
    }
    Machine machine(program_->code, text, budget_for(text));
    // An empty match right behind the match before it does not count.
    size_t from = 0;
    size_t last_end = SIZE_MAX;
    while (from <= text.size && machine.find(from, &match)) {
        if (match.start == match.end && match.end == last_end) {
            from = match.end < text.size ? match.end + char_size(text[match.end]) : match.end + 1;
            continue;
        }
        matches->push_back(match);
        from = last_end = match.end;
    }
}

}  // namespace crayon
