// Groups inputs into tasks that are large enough for a thread, and runs them in threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/interrupt.h"
#include "engine/scratch.h"
#include "engine/seam_finder.h"

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

// A long task calls its Poll several times while it works. The Poll throws if the task should stop.
using Poll = std::function<void()>;

// Runs work(task, worker, poll) for tasks [0, n), started in order, on up to `threads` threads. This thread is one of
// them, as worker 0. It also calls
// - finish(begin, end) for finished tasks [begin, end), in order: when at least `together` of them are waiting, or when
// this thread is idle. finish may change `together`. It may also wait for a lock such as the GIL, because no thread
// waits for this one.
// - watch() often: between this thread's tasks, when they poll, and while it waits for other threads.
// Rethrows what watch() threw, or else the error of the first failed task.
template <typename Work, typename Finish, typename Watch>
void run_in_order(size_t n, size_t threads, const size_t& together, Work&& work, Finish&& finish, Watch&& watch) {
    struct Stopped {};
    std::atomic<size_t> next{0};
    std::atomic<bool> stopped{false};
    std::mutex mutex;
    std::condition_variable changed;
    const std::unique_ptr<std::atomic<bool>[]> ready(new std::atomic<bool>[n]());
    std::atomic<size_t> awaited{n};     // this thread sleeps until this task is ready
    size_t failed_at = n, n_ended = 0;  // helper threads that have ended
    std::exception_ptr failure, alarm;
    const auto fail = [&](size_t i) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (failure == nullptr || i < failed_at) {
            failed_at = i;
            failure = std::current_exception();
        }
        next = n;  // all earlier tasks have been taken
        changed.notify_one();
    };
    const auto help = [&](size_t worker) {
        size_t i = 0;
        try {
            const Poll poll = [&] {
                if (stopped) throw Stopped();
            };
            while ((i = next.fetch_add(1)) < n) {
                work(i, worker, poll);
                ready[i] = true;
                if (awaited == i) {
                    const std::lock_guard<std::mutex> lock(mutex);
                    changed.notify_one();
                }
            }
        } catch (const Stopped&) {
        } catch (...) {
            fail(i);
        }
        const std::lock_guard<std::mutex> lock(mutex);
        ++n_ended;
        changed.notify_one();
    };
    std::vector<std::thread> helpers;
    try {
        for (size_t i = 1; i < std::min(threads, n); ++i) helpers.emplace_back(help, i);
    } catch (const std::exception&) {
        // No more threads or memory available: continue with the existing threads.
    }
    const auto look = [&] {
        try {
            watch();
        } catch (...) {
            alarm = std::current_exception();
            stopped = true;
            next = n;
            throw Stopped();
        }
    };
    size_t i = 0, finished = 0, known = 0;  // tasks before `known` are ready
    try {
        const Poll poll = look;
        while (finished < n) {
            while (known < n && ready[known]) ++known;
            const bool is_idle = next >= n;
            if (known - finished >= together || (is_idle && known > finished)) {
                finish(i = finished, known);
                finished = known;
                if (finished < n) look();
            } else if (!is_idle) {
                if ((i = next.fetch_add(1)) < n) {
                    work(i, size_t(0), poll);
                    ready[i] = true;
                    look();
                }
            } else {
                {
                    std::unique_lock<std::mutex> lock(mutex);
                    awaited = known;
                    changed.wait_for(lock, kLookAfter, [&] { return failure != nullptr || ready[known]; });
                    awaited = n;
                    if (failure != nullptr) break;
                }
                look();
            }
        }
    } catch (const Stopped&) {
    } catch (...) {
        fail(i);
    }
    // After a failure, helpers finish their current tasks, unless watch() throws.
    const auto is_over = [&] {
        std::unique_lock<std::mutex> lock(mutex);
        return changed.wait_for(lock, kLookAfter, [&] { return n_ended == helpers.size(); });
    };
    try {
        while (finished < n && alarm == nullptr && !is_over()) look();
    } catch (const Stopped&) {
    }
    for (std::thread& helper : helpers) helper.join();
    if (alarm) std::rethrow_exception(alarm);
    if (failure) std::rethrow_exception(failure);
}

struct NoFinish {
    void operator()(size_t, size_t) const {}
};
constexpr size_t kAllTogether = SIZE_MAX;

// run_in_order without calls of finish.
template <typename Work, typename Watch>
void run_watched(size_t n, size_t threads, Work&& work, Watch&& watch) {
    run_in_order(n, threads, kAllTogether, work, NoFinish(), watch);
}

// run_in_order with work(task, scratch), which gets working memory of an engine, or work(task). Ends early if
// interrupt_check throws.
template <typename Work, typename Finish = NoFinish>
void run_tasks(const Engine& engine, size_t n, size_t threads, Work&& work, const size_t& together = kAllTogether,
               Finish&& finish = Finish()) {
    std::deque<Engine::Lease> leases;
    for (size_t worker = 0; worker < std::max(size_t(1), std::min(threads, n)); ++worker)
        leases.emplace_back(engine, worker);
    InterruptWatch interrupts;
    run_in_order(
        n, threads, together,
        [&](size_t i, size_t worker, const Poll&) {
            if constexpr (std::is_invocable_v<Work&, size_t>)
                work(i);
            else
                work(i, *leases[worker]);
        },
        finish, [&] { interrupts.look_now_and_then(); });
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
