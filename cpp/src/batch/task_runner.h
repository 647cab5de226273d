// Inputs grouped into tasks that are worth a thread's while, and threads that work them off.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/interrupt.h"
#include "engine/scratch.h"

namespace crayon {

// Work that is handed out at a time.
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

// Runs work(task index, scratch), or work(task index) where none is needed, for every task, and in this thread
// finish(begin, end) for ready ones in order: as soon as `together` are ready in a row, which finish may change, or
// there is nothing else to do. Rethrows the error of the first task that failed,
// or what the interrupt_check threw, for which it looks in this thread between tasks and while it waits. `finish` is
// called without the lock that it may wait for another of (the GIL), and helpers never wait for it.
template <typename Work, typename Finish>
void run_tasks_in_order(const Engine& engine, size_t n, size_t threads, const size_t& together, Work&& work,
                        Finish&& finish) {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::condition_variable changed;
    const std::unique_ptr<std::atomic<bool>[]> ready(new std::atomic<bool>[n]());
    std::atomic<size_t> awaited{n};  // by this thread, which sleeps
    size_t failed_at = n;
    std::exception_ptr failure, alarm;
    const auto fail = [&](size_t i) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (failure == nullptr || i < failed_at) {
            failed_at = i;
            failure = std::current_exception();
        }
        next = n;  // tasks before this one were all taken already
        changed.notify_one();
    };
    const auto do_task = [&](size_t i, const Engine::Lease& lease) {
        (void)lease;
        if constexpr (std::is_invocable_v<Work&, size_t>)
            work(i);
        else
            work(i, *lease);
    };
    const auto run = [&](size_t worker) {
        size_t i = 0;
        try {
            const Engine::Lease lease(engine, worker);
            while ((i = next.fetch_add(1)) < n) {
                do_task(i, lease);
                ready[i] = true;
                if (awaited == i) {
                    const std::lock_guard<std::mutex> lock(mutex);
                    changed.notify_one();
                }
            }
        } catch (...) {
            fail(i);
        }
    };
    std::vector<std::thread> helpers;
    const size_t wanted = std::min(threads, n);
    for (size_t i = 1; i < wanted; ++i) {
        try {
            helpers.emplace_back(run, i);
        } catch (const std::system_error&) {
            break;  // no more threads to be had: go on with those there are
        }
    }
    InterruptWatch interrupts;
    const auto look = [&] {
        try {
            interrupts.look_now_and_then();
        } catch (...) {
            alarm = std::current_exception();
            throw;
        }
    };
    size_t i = 0, finished = 0, known = 0;  // tasks before `known` are ready
    try {
        const Engine::Lease lease(engine);
        while (finished < n) {
            while (known < n && ready[known]) ++known;
            const bool is_idle = next >= n;
            if (known - finished >= together || (is_idle && known > finished)) {
                finish(i = finished, known);
                finished = known;
                if (finished < n) look();
            } else if (!is_idle) {
                if ((i = next.fetch_add(1)) < n) {
                    do_task(i, lease);
                    ready[i] = true;
                    if (n > 1) look();
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
    } catch (...) {
        fail(i);
    }
    for (std::thread& helper : helpers) helper.join();
    if (alarm) std::rethrow_exception(alarm);
    if (failure) std::rethrow_exception(failure);
}

template <typename Work>
void run_tasks(const Engine& engine, size_t n, size_t threads, Work&& work) {
    run_tasks_in_order(engine, n, threads, n, work, [](size_t, size_t) {});
}

// Puts the tasks' ids one after the other, and makes splits that count within a task count over all.
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
