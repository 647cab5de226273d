// The result of compiling a pattern: instructions for a backtracking machine with an explicit stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "crayon/regex/regex.h"
#include "unicode/char_set.h"

namespace crayon::regex {

enum class Op : uint8_t {
    text,         // a, b: matches the `b` bytes at `a` of Program::bytes
    set,          // a: matches one character of set `a`
    loop,         // a, b, c, d: matches set `a`, `b` to `c` times, greedily; `d` is a filter of the next byte
    loop_lazy,    // a, b, c, d: the same, lazily
    loop_final,   // a, b, c, d: the same as loop, possessively
    same,         // b, c: matches the previous character `b` to `c` times more, possessively
    jump,         // a: jumps to `a`
    choose,       // a: tries the branches of Choice `a`, in order
    empty_begin,  // a: register `a` = here
    empty_end,    // a, b: jumps to `b` if nothing was matched since empty_begin
    count_begin,  // a: register `a` = 0
    count,  // a, b, c, d: counts in register `a`; runs the next code `b` to `c` times, then jumps to `d`; see `flag`
    count_next,    // a, b: increments register `a`, jumps to `b`
    final_begin,   // a: register `a` = height of the stack
    final_end,     // a: drops the stack to that height
    look_begin,    // a, b: registers `a`, `a` + 1 = height, here; if negative, a failure continues at `b`
    look_end,      // a: returns to that height and place; if negative, fails
    step_back,     // b, c: steps `b` characters back, then up to `c`
    behind_begin,  // a: register `a` = limit; sets the limit to here
    behind_end,    // a, b: fails unless here is the place of look_begin `b`; limit = register `a`
    next_set,      // a: the next character must be in set `a`; if negative (`flag`), must not, or be missing
    previous_set,  // a: the same for the previous character
    begin_line,
    end_line,
    begin_text,
    end_text,
    end_text_or_last_newline,
    search_start,
    word_boundary,
    no_word_boundary,
    match,
};

struct Instruction {
    Op op;
    uint8_t flag = 0;  // count: greedy; looks: negative
    uint32_t a = 0, b = 0, c = 0, d = 0;
};

// A set of code points for membership tests: by first byte, then in blocks of 256 bits.
struct MatchSet {
    enum Kind : uint8_t { none = 0, all = 1, some = 2 };
    std::array<uint8_t, 256> first;  // all: every character with this first byte is a member
    std::vector<uint16_t> index;     // block of code point / 256; `beyond` after its end
    std::vector<std::array<uint64_t, 4>> blocks;
    bool beyond = false;

    explicit MatchSet(const CharSet& set);
    bool contains(uint32_t c) const {
        const uint32_t page = c >> 8;
        if (page >= index.size()) return beyond;
        return (blocks[index[page]][c >> 6 & 3] >> (c & 63) & 1) != 0;
    }
};

// A set of bytes: here the first bytes of the characters of a CharSet.
using ByteSet = std::array<bool, 256>;
ByteSet first_bytes(const CharSet& set);

// Up to 64 branches. viable[byte] has a bit for each branch that can match if this byte is next; index 256 is the end
// of the text.
struct Choice {
    std::vector<uint32_t> targets;
    std::array<uint64_t, 257> viable;
};

constexpr uint32_t kNoFilter = 0xFFFFFFFF;

// A requirement: the text from the beginning of every match on contains `text` or, if `text` is empty, one of `bytes`.
struct Need {
    std::string text;
    std::vector<uint32_t> failure;  // of text
    ByteSet bytes{};
    uint32_t count = 0;  // of bytes
};
constexpr size_t kMaxNeeds = 4;
Need need_of(const ByteSet& bytes);
bool is_rarer(const Need& a, const Need& b);

struct Node;
// At most kMaxNeeds requirements, the ones most likely to be missing.
std::vector<Need> needs(const Node& root);

void append_utf8(uint32_t code_point, std::string* out);

struct Code {
    std::string pattern;  // for errors
    std::vector<Instruction> instructions;
    std::string bytes;
    std::vector<MatchSet> sets;
    std::vector<Choice> choices;
    std::vector<ByteSet> filters;
    uint32_t registers = 0;
    uint32_t word_set = 0;  // for word boundaries
    bool anywhere = true;   // a match can be empty or begin with any byte
    ByteSet first{};        // otherwise: the possible first bytes
    bool at_start = false;  // only matches at the start of a text
    std::vector<Need> needs;
};

Code compile(std::string_view pattern);

// Searches for `word`, which is not empty (Knuth, Morris and Pratt). The table gives the length of the partial match
// that remains after a mismatch.
std::vector<uint32_t> failure_table(std::string_view word);
bool find_literal(std::string_view word, const std::vector<uint32_t>& failure, Bytes text, size_t from,
                  Regex::Match* match);

}  // namespace crayon::regex

namespace crayon {

struct Regex::Program {
    // A literal is searched without the machine.
    bool is_literal = false;
    std::string literal;
    std::vector<uint32_t> failure;
    regex::Code code;
};

}  // namespace crayon
