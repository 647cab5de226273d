// What a pattern is compiled to: instructions for a backtracking machine whose stack is explicit.
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
    text,          // the `b` bytes at `a` of Program::bytes
    set,           // one character of set `a`
    loop,          // set `a`, `b` to `c` times, the most first; `d`: filter of what comes next
    loop_lazy,     // the same, the fewest first
    loop_final,    // the same as loop, without coming back
    same,          // the character before here, `b` to `c` times more, the most, without coming back
    jump,          // to `a`
    choose,        // the branches of Choice `a`, in order
    empty_begin,   // register `a` = here
    empty_end,     // to `b` when nothing was matched since empty_begin
    count_begin,   // register `a` = 0
    count,         // by register `a`: at least `b` and at most `c` times what follows, then to `d`; see `flag`
    count_next,    // register `a` + 1, to `b`
    final_begin,   // register `a` = height of the stack
    final_end,     // back to that height
    look_begin,    // registers `a`, `a` + 1 = height, here; when negative, on failure goes on at `b`
    look_end,      // back to that height and place; when negative, fails
    step_back,     // `b` characters back, then up to `c`
    behind_begin,  // register `a` = limit; nothing is matched beyond here
    behind_end,    // fails unless here is the place of look_begin `b`; limit = register `a`
    next_set,      // the next character is in set `a`; when negative (`flag`), is not, or there is none
    previous_set,  // the same of the previous one
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

// A set of code points for testing: by its first byte, then in blocks of 256 bits.
struct MatchSet {
    enum Kind : uint8_t { none = 0, all = 1, some = 2 };
    std::array<uint8_t, 256> first;  // all: every character that begins with this byte
    std::vector<uint16_t> index;     // block of code point / 256; beyond its end: `beyond`
    std::vector<std::array<uint64_t, 4>> blocks;
    bool beyond = false;

    explicit MatchSet(const CharSet& set);
    bool contains(uint32_t c) const {
        const uint32_t page = c >> 8;
        if (page >= index.size()) return beyond;
        return (blocks[index[page]][c >> 6 & 3] >> (c & 63) & 1) != 0;
    }
};

// The first bytes of the characters of a set.
using ByteSet = std::array<bool, 256>;
ByteSet first_bytes(const CharSet& set);

// Which of up to 64 branches can match where the next byte is this one; 256: at the end.
struct Choice {
    std::vector<uint32_t> targets;
    std::array<uint64_t, 257> viable;
};

constexpr uint32_t kNoFilter = 0xFFFFFFFF;

// What every match has somewhere at or behind its beginning: a string or, when that is empty, one of these bytes.
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
// At most kMaxNeeds of them, those that are likely to be missing.
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
    uint32_t word_set = 0;  // where a word boundary is asked for
    bool anywhere = true;   // a match can be empty or begin with any byte
    ByteSet first{};        // otherwise: the bytes it begins with
    bool at_start = false;  // it matches at the start of a text, or nowhere
    std::vector<Need> needs;
};

Code compile(std::string_view pattern);

// The search for a string that is not empty: how far a match of it goes on when its next byte is not there.
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
