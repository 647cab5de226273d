#include "crayon/texts/text_ranges.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "crayon/encode/run/thread_count.h"
#include "crayon/simd/kernels.h"
#include "crayon/support/error.h"
#include "encode/run/task_runner.h"

namespace crayon {
namespace {

// The number of bytes that is worth a thread of its own, for work as fast as copying.
constexpr size_t kReadBytes = size_t(1) << 20;

// Divides texts into tasks of about kReadBytes. Task i has the texts from starts[i] up to starts[i + 1].
std::vector<size_t> reading_tasks(const std::vector<TextView>& texts) {
    std::vector<size_t> starts{0};
    size_t bytes = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
        bytes += texts[i].size + 16;
        if (bytes < kReadBytes && i + 1 < texts.size()) continue;
        starts.push_back(i + 1);
        bytes = 0;
    }
    return starts;
}

// The starts of separators in data[from, to), including overlapping ones and ones that extend past `to`.
std::vector<size_t> find_separators(Bytes data, Bytes separator, size_t from, size_t to) {
    std::vector<size_t> found;
    if (data.size < separator.size) return found;
    to = std::min(to, data.size - separator.size + 1);
    for (size_t at = from; at < to; ++at) {
        const void* const first = std::memchr(data.data + at, separator[0], to - at);
        if (first == nullptr) break;
        at = size_t(static_cast<const uint8_t*>(first) - data.data);
        if (std::memcmp(data.data + at, separator.data, separator.size) == 0) found.push_back(at);
    }
    return found;
}

}  // namespace

std::vector<TextView> texts_of_ranges(Bytes data, const int64_t* begins, const int64_t* ends, size_t n) {
    std::vector<TextView> texts(n);
    for (size_t i = 0; i < n; ++i) {
        const int64_t begin = begins[i], end = ends[i];
        if (begin < 0 || end < begin || uint64_t(end) > data.size)
            throw Error(ErrorKind::argument, "text " + std::to_string(i) + " is bytes " + std::to_string(begin) +
                                                 " to " + std::to_string(end) + " of a buffer of " +
                                                 std::to_string(data.size));
        texts[i] = {data.data + begin, size_t(end - begin), 0};
    }
    return texts;
}

std::vector<int64_t> utf8_errors(const std::vector<TextView>& texts, size_t threads) {
    std::vector<int64_t> out(texts.size(), -1);
    const std::vector<size_t> starts = reading_tasks(texts);
    const Utf8Error utf8_error = selected_kernels().utf8_error;
    const auto work = [&](size_t task, size_t, const Poll&) {
        for (size_t i = starts[task]; i < starts[task + 1]; ++i) {
            const size_t bad = utf8_error(static_cast<const uint8_t*>(texts[i].data), texts[i].size);
            if (bad != texts[i].size) out[i] = int64_t(bad);
        }
    };
    run_watched(starts.size() - 1, thread_count(threads, bytes_of(texts)), work, [] {});
    return out;
}

RangeList split_ranges(Bytes data, Bytes separator, size_t threads) {
    if (separator.empty()) throw Error(ErrorKind::argument, "the separator is empty");
    const size_t n = (data.size + kReadBytes - 1) / kReadBytes;
    std::vector<std::vector<size_t>> found(n);
    const auto work = [&](size_t task, size_t, const Poll&) {
        found[task] = find_separators(data, separator, task * kReadBytes, (task + 1) * kReadBytes);
    };
    run_watched(n, thread_count(threads, data.size), work, [] {});
    RangeList out;
    size_t total = 1;
    for (const std::vector<size_t>& some : found) total += some.size();
    out.begins.reserve(total);
    out.ends.reserve(total);
    size_t begin = 0;
    for (const std::vector<size_t>& some : found) {
        for (const size_t at : some) {
            if (at < begin) continue;  // overlaps the previous one
            out.begins.push_back(int64_t(begin));
            out.ends.push_back(int64_t(at));
            begin = at + separator.size;
        }
    }
    if (begin < data.size) {
        out.begins.push_back(int64_t(begin));
        out.ends.push_back(int64_t(data.size));
    }
    return out;
}

}  // namespace crayon
