// Groups inputs into tasks that are large enough for a thread, and joins the tasks' results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "crayon/support/id_buffer.h"
#include "encode/cutter/seam_finder.h"

namespace crayon {

// The least number of input bytes per task.
constexpr size_t kTaskBytes = size_t(1) << 16;

// Units of a part of a large text.
constexpr size_t kPartUnits = size_t(1) << 18;

struct Task {
    size_t begin, end;        // inputs
    size_t from = 0, to = 0;  // units of a single input, for a part
    bool is_part = false;     // false: the task is whole inputs
    bool is_last = true;      // the input ends with this part
};

// Groups inputs in order: several small ones per task, and large ones in parts. finder_of(i) returns a SeamFinder for
// an input to cut, or nothing.
template <typename SizeOf, typename FinderOf>
std::vector<Task> make_tasks(size_t n, SizeOf&& size_of, FinderOf&& finder_of) {
    std::vector<Task> tasks;
    size_t begin = 0, bytes = 0;
    const auto close = [&](size_t end) {
        if (begin < end) tasks.push_back({begin, end});
        begin = end;
        bytes = 0;
    };
    for (size_t i = 0; i < n; ++i) {
        if (std::optional<SeamFinder> parts = finder_of(i)) {
            close(i);
            while (!parts->is_done()) {
                const size_t from = parts->done(), to = parts->next(kPartUnits);
                tasks.push_back({i, i + 1, from, to, true, parts->is_done()});
            }
            begin = i + 1;
            continue;
        }
        bytes += size_of(i) + 16;
        if (bytes >= kTaskBytes) close(i + 1);
    }
    close(n);
    return tasks;
}

template <typename SizeOf>
std::vector<Task> make_tasks(size_t n, SizeOf&& size_of) {
    return make_tasks(n, size_of, [](size_t) { return std::optional<SeamFinder>(); });
}

// Concatenates the tasks' ids, and turns splits within a task into splits over all.
inline void join_parts(const std::vector<Task>& tasks, std::vector<IdBuffer>* parts, IdBuffer* ids,
                       std::vector<int64_t>* splits) {
    if (parts->size() == 1) {
        *ids = std::move((*parts)[0]);
        return;
    }
    size_t total = 0;
    for (const IdBuffer& part : *parts) total += part.size();
    ids->reserve_more(total);
    for (size_t t = 0; t < tasks.size(); ++t) {
        const int64_t before = int64_t(ids->size());
        for (size_t i = tasks[t].begin; i < tasks[t].end; ++i) (*splits)[i + 1] += before;
        ids->append((*parts)[t].data(), (*parts)[t].size());
        (*parts)[t].trim(0);
    }
}

}  // namespace crayon
