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
#include <thread>
#include <type_traits>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/interrupt.h"
#include "engine/scratch.h"

namespace crayon {

// Bytes of a task.
constexpr size_t kTaskBytes = size_t(1) << 16;

struct Task {
    size_t begin, end;  // inputs
};

template <typename SizeOf>
std::vector<Task> make_tasks(size_t n, SizeOf&& size_of) {
    std::vector<Task> tasks;
    size_t begin = 0, bytes = 0;
    for (size_t i = 0; i < n; ++i) {
        bytes += size_of(i) + 16;
        if (bytes >= kTaskBytes || i + 1 == n) {
            tasks.push_back({begin, i + 1});
            begin = i + 1;
            bytes = 0;
        }
    }
    return tasks;
}

// Long tasks call a Poll now and then. The Poll throws if the work should stop.
using Poll = std::function<void()>;

// Runs work(task, worker, poll) for tasks [0, n), started in order, on up to `threads` threads. This thread is one of
// them, as worker 0. It also calls
// - finish(begin, end) for ready tasks in order: when `together` consecutive ones are ready, or when this thread is
// idle. finish may change `together`. It may wait for a lock such as the GIL, because no thread waits for this one.
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

// Runs tasks without an ordered finish.
template <typename Work, typename Watch>
void run_watched(size_t n, size_t threads, Work&& work, Watch&& watch) {
    run_in_order(
        n, threads, n, work, [](size_t, size_t) {}, watch);
}

// Runs work(task, scratch) with working memory of an engine, or work(task). Ends early if interrupt_check throws.
template <typename Work, typename Finish>
void run_tasks_in_order(const Engine& engine, size_t n, size_t threads, const size_t& together, Work&& work,
                        Finish&& finish) {
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

template <typename Work>
void run_tasks(const Engine& engine, size_t n, size_t threads, Work&& work) {
    run_tasks_in_order(engine, n, threads, n, work, [](size_t, size_t) {});
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
