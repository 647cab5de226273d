#include "crayon/texts/json_lines.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "crayon/encode/run/thread_count.h"
#include "crayon/simd/kernels.h"
#include "encode/run/task_runner.h"
#include "simd/json_line.h"

namespace crayon {
namespace {

// The number of bytes of JSON that is worth a thread of its own.
constexpr size_t kLinesBytes = size_t(1) << 18;

// Does what Python's bytes.isspace does, but returns true for an empty range.
bool is_blank(const uint8_t* p, const uint8_t* end) {
    while (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r'))) ++p;
    return p == end;
}

// The end of the line that contains block[at], after its "\n".
size_t line_end(const uint8_t* block, size_t at, size_t size) {
    const void* const found = std::memchr(block + at, '\n', size - at);
    return found == nullptr ? size : size_t(static_cast<const uint8_t*>(found) - block) + 1;
}

class LineTask {
  public:
    LineTask(uint8_t* block, const std::vector<Bytes>& columns, const Kernels& kernels, JsonLines* out)
        : block_(block), columns_(columns), kernels_(kernels), strings_(columns.size()), out_(*out) {}

    // Reads the lines in bytes [from, to); `to` is the end of a line.
    void read(size_t from, size_t to) {
        while (from < to) {
            const size_t end = line_end(block_, from, to);
            read_line(from, end);
            from = end;
        }
    }

  private:
    void read_line(size_t from, size_t to) {
        if (room_size_ < to - from + JsonLine::kRoom) {
            room_size_ = to - from + 4096;
            room_.reset(new uint8_t[room_size_]);
        }
        JsonLine line{block_ + from, block_ + to, columns_.data(), columns_.size(), strings_.data(), room_.get(), true};
        const bool is_sure = kernels_.read_json_line(&line) &&
                             (line.is_ascii || kernels_.utf8_error(line.begin, to - from) == to - from);
        out_.line_begins.push_back(int64_t(from));
        if (!is_sure) {
            out_.status.push_back(is_blank(line.begin, line.end) ? LineStatus::blank : LineStatus::unsure);
            out_.begins.insert(out_.begins.end(), columns_.size(), -1);
            out_.ends.insert(out_.ends.end(), columns_.size(), -1);
            return;
        }
        out_.status.push_back(LineStatus::strings);
        for (const JsonString& string : strings_) {
            uint8_t* const rest = block_ + (string.plain_end - block_);
            if (string.rest_size > 0) std::memcpy(rest, string.rest, string.rest_size);
            out_.begins.push_back(string.begin - block_);
            out_.ends.push_back(rest + string.rest_size - block_);
        }
    }

    uint8_t* const block_;
    const std::vector<Bytes>& columns_;
    const Kernels& kernels_;
    std::vector<JsonString> strings_;
    std::unique_ptr<uint8_t[]> room_;
    size_t room_size_ = 0;
    JsonLines& out_;
};

template <typename T>
void join(const std::vector<JsonLines>& parts, std::vector<T> JsonLines::*member, JsonLines* out) {
    std::vector<T>& all = out->*member;
    size_t total = 0;
    for (const JsonLines& part : parts) total += (part.*member).size();
    all.reserve(total + 1);
    for (const JsonLines& part : parts) all.insert(all.end(), (part.*member).begin(), (part.*member).end());
}

}  // namespace

JsonLines read_json_lines(uint8_t* block, size_t size, const std::vector<std::string>& columns, size_t threads) {
    // Cut all lines before any thread starts, because unescaped strings may contain line ends.
    std::vector<size_t> cuts{0};
    while (cuts.back() < size) {
        const size_t least = cuts.back() + kLinesBytes;
        cuts.push_back(least < size ? line_end(block, least, size) : size);
    }
    const std::vector<Bytes> names(columns.begin(), columns.end());
    const Kernels& kernels = selected_kernels();
    std::vector<JsonLines> parts(cuts.size() - 1);
    const auto work = [&](size_t task, size_t, const Poll&) {
        LineTask(block, names, kernels, &parts[task]).read(cuts[task], cuts[task + 1]);
    };
    run_watched(parts.size(), thread_count(threads), work, [] {});
    JsonLines out;
    join(parts, &JsonLines::line_begins, &out);
    join(parts, &JsonLines::status, &out);
    join(parts, &JsonLines::begins, &out);
    join(parts, &JsonLines::ends, &out);
    out.line_begins.push_back(int64_t(size));
    return out;
}

size_t whole_lines(const uint8_t* block, size_t from, size_t size, size_t most, bool at_end) {
    size_t at = from;
    for (; most > 0; --most) {
        const void* const found = std::memchr(block + at, '\n', size - at);
        if (found == nullptr) return at_end ? size : at > from ? at : 0;
        at = size_t(static_cast<const uint8_t*>(found) - block) + 1;
    }
    return at;
}

}  // namespace crayon
