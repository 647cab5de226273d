// Reads lines that each hold one JSON object. Finds the strings of chosen members ("columns") without copying them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crayon {

enum class LineStatus : uint8_t {
    strings = 0,  // an object with a string for every column
    blank = 1,    // only ASCII white space
    unsure = 2,   // Anything else: it may be valid JSON, but the caller's own parser has to decide.
};

struct JsonLines {
    std::vector<int64_t> line_begins;   // One more than lines: offsets in the block. A line includes its "\n".
    std::vector<LineStatus> status;     // one per line
    std::vector<int64_t> begins, ends;  // offsets in the block, for each column of a line; -1 unless the status is
                                        // `strings`
};

// Lines end with "\n"; the last one may end with the block. A line of status `strings` is JSON that Python's json.loads
// accepts. Its escaped strings are unescaped in place, to plain UTF-8. All other lines stay unchanged.
//
// A line is `unsure` if a column occurs twice or has half a surrogate pair, or if the line is not UTF-8. NaN, Infinity,
// numbers over 600 bytes and more than 64 levels of nesting are unsure, too. `columns` must be unique. `threads` as for
// thread_count (batch.h).
JsonLines read_json_lines(uint8_t* block, size_t size, const std::vector<std::string>& columns, size_t threads);

// Returns how many bytes at the start of block[0, size) are whole lines: at most `most` lines, and 0 if no line ends.
// The search begins at `from`, before which no line may end. With `at_end` the last line needs no "\n".
size_t whole_lines(const uint8_t* block, size_t from, size_t size, size_t most, bool at_end);

}  // namespace crayon
