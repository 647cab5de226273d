// Runs tasks in threads, and takes their results in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "crayon/support/interrupt.h"

namespace crayon {

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

}  // namespace crayon
