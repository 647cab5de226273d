// Lines of JSON read for some columns of text: their strings stay where they lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crayon {

enum class LineStatus : uint8_t {
    strings = 0,  // an object that has a string for every column
    blank = 1,    // nothing but ASCII white space
    unsure = 2,   // anything else: it may be right, but not in the plain way that is read here
};

struct JsonLines {
    std::vector<int64_t> line_begins;   // one more than lines: in the block, with the "\n" of each line
    std::vector<LineStatus> status;     // of each line
    std::vector<int64_t> begins, ends;  // in the block, of each line's columns; -1 unless the status is `strings`
};

// Lines end with "\n", the last one also with the block. A line with the status `strings` is JSON that Python's
// json.loads takes, and these are its strings: those with escapes are written over, so that they are plain UTF-8 then.
// Any other line stays as it is. Unsure are, too: a column that occurs twice, half a surrogate pair in a column, NaN
// and Infinity, numbers of more than 600 bytes, more than 64 levels, what is not UTF-8. The columns are different.
// `threads` as for thread_count (batch.h).
JsonLines read_json_lines(uint8_t* block, size_t size, const std::vector<std::string>& columns, size_t threads);

// Bytes of block[0, size) that are whole lines: no more than `most` of those that end past `from`, before which none
// does. With `at_end` the last line needs no "\n". 0 when no line ends.
size_t whole_lines(const uint8_t* block, size_t from, size_t size, size_t most, bool at_end);

}  // namespace crayon
