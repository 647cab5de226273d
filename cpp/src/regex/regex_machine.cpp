// Executes the machine's instructions.
#include "regex/regex_machine.h"

#include <cstring>

#include "support/bits.h"

namespace crayon::regex {

// Whether the text from `start` on fulfils all requirements of a match (Need). Remembers found places, so that all
// searches together scan the text once.
bool Machine::has_needs(const uint8_t* start) {
    for (size_t i = 0; i < code_.needs.size(); ++i) {
        const uint8_t*& at = needed_at_[i];
        if (at == nullptr || at < start) at = next_needed(code_.needs[i], start);
        if (at == end_) return false;
    }
    return true;
}

const uint8_t* Machine::next_needed(const Need& need, const uint8_t* start) const {
    if (need.text.empty()) return std::find_if(start, end_, [&need](uint8_t byte) { return need.bytes[byte]; });
    Regex::Match found;
    const Bytes text(begin_, size_t(end_ - begin_));
    return find_literal(need.text, need.failure, text, size_t(start - begin_), &found) ? begin_ + found.start : end_;
}

// Executes instructions from `pc` on until one fails (null), or returns the end of the match.
const uint8_t* Machine::advance(uint32_t pc, const uint8_t* p) {
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
            case Op::same: {
                const uint8_t* const last = back(p);
                const size_t size = size_t(p - last);
                uint32_t count = 0;
                while (count < i.c && size_t(limit_ - p) >= size && std::memcmp(p, last, size) == 0) {
                    p += size;
                    count += count < i.b || i.c != kInfinite;
                }
                spend(uint64_t(p - last) / kBytesPerStep);
                good = count >= i.b;
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
                pc = choice.targets[size_t(lowest_set_bit(viable))];
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

// Resumes at the last alternative. Returns false if none is left.
bool Machine::resume(uint32_t* pc, const uint8_t** place) {
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
                *pc = code_.choices[frame.at].targets[size_t(lowest_set_bit(viable))];
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

}  // namespace crayon::regex
