#include "crayon/encode/sinks/ranges.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "crayon/encode/run/thread_count.h"
#include "crayon/support/error.h"
#include "encode/run/task_runner.h"
#include "encode/sinks/encode_texts.h"

namespace crayon {
namespace {

// The number of bytes that is worth a thread of its own, for work as fast as copying.
constexpr size_t kReadBytes = size_t(1) << 20;

[[noreturn]] void too_large(int64_t id, const std::string& of, uint64_t largest) {
    throw Error(ErrorKind::argument, "id " + std::to_string(id) + of + " does not fit: the largest of this type is " +
                                         std::to_string(largest));
}

// Texts seldom have more ids than bytes / kBytesPerId. Reserved memory that is not written costs nothing.
constexpr size_t kBytesPerId = 3;

// Copies the ids of texts into an array of type Id. Ids arrive in the order of texts, those of a long text in several
// calls.
template <typename Id>
class RangeTaker {
  public:
    RangeTaker(const Suffix& suffix, size_t texts, size_t bytes, RangeIds<Id>* out)
        : after_empty_(suffix.after_empty), out_(*out) {
        for (const int64_t id : suffix.ids) {
            if (id < 0 || uint64_t(id) > kLargest) too_large(id, " of the suffix", kLargest);
            suffix_.push_back(Id(id));
        }
        out_.splits.reserve(texts + 1);
        out_.splits.push_back(0);
        out_.ids.reserve_more(bytes / kBytesPerId + texts * suffix_.size());
    }

    void take(const Task& task, const TextIds& made) {
        if (suffix_.empty()) {
            const int64_t before = int64_t(out_.ids.size());
            append(task, made, 0, made.ids.size());
            if (task.is_last)
                for (const size_t end : made.ends) out_.splits.push_back(before + int64_t(end));
            return;
        }
        size_t start = 0;
        for (const size_t end : made.ends) {
            append(task, made, start, end);
            start = end;
            if (!task.is_last) continue;
            const bool is_empty = int64_t(out_.ids.size()) == out_.splits.back();
            if (!is_empty || after_empty_) out_.ids.append(suffix_.data(), suffix_.size());
            out_.splits.push_back(int64_t(out_.ids.size()));
        }
    }

  private:
    static constexpr uint64_t kLargest = uint64_t(std::numeric_limits<Id>::max());

    void append(const Task& task, const TextIds& made, size_t from, size_t to) {
        const int32_t* const ids = made.ids.data() + from;
        const size_t n = to - from;
        if (n == 0) return;
        out_.ids.reserve_more(n);
        if constexpr (sizeof(Id) == sizeof(int32_t)) {
            std::memcpy(out_.ids.end(), ids, n * sizeof(Id));
        } else {
            uint32_t any = 0;
            Id* const to_ids = out_.ids.end();
            for (size_t i = 0; i < n; ++i) {
                any |= uint32_t(ids[i]);
                to_ids[i] = Id(ids[i]);
            }
            if (any > kLargest) refuse(task, made, from);
        }
        out_.ids.advance(n);
    }

    [[noreturn]] void refuse(const Task& task, const TextIds& made, size_t from) const {
        size_t i = from;
        while (uint32_t(made.ids.data()[i]) <= kLargest) ++i;
        const size_t text = size_t(std::upper_bound(made.ends.begin(), made.ends.end(), i) - made.ends.begin());
        too_large(int64_t(uint32_t(made.ids.data()[i])), " of text " + std::to_string(task.begin + text), kLargest);
    }

    const bool after_empty_;
    std::vector<Id> suffix_;
    RangeIds<Id>& out_;
};

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

template <typename Id>
RangeIds<Id> encode_ranges(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                           const Suffix& suffix, size_t threads) {
    RangeIds<Id> out;
    RangeTaker<Id> taker(suffix, texts.size(), bytes_of(texts), &out);
    const auto take = [&](const Task* tasks, const auto* parts, size_t n) {
        for (size_t t = 0; t < n; ++t) taker.take(tasks[t], *parts[t]);
    };
    encode_texts(engine, texts, options, threads, 1, take, engine.kernels().utf8_error);
    return out;
}

template RangeIds<int32_t> encode_ranges(const Engine&, const std::vector<TextView>&, const EncodeOptions&,
                                         const Suffix&, size_t);
template RangeIds<uint32_t> encode_ranges(const Engine&, const std::vector<TextView>&, const EncodeOptions&,
                                          const Suffix&, size_t);
template RangeIds<uint16_t> encode_ranges(const Engine&, const std::vector<TextView>&, const EncodeOptions&,
                                          const Suffix&, size_t);

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
