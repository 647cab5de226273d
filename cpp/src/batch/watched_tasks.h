// Tasks for threads while the calling thread keeps an eye on something: a progress bar, an interrupt.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace crayon {

// What a task may call now and then, so that nobody has to wait for its end. Throws when the work is to stop.
using Poll = std::function<void()>;

// Runs work(task, worker, poll) for tasks [0, n), in order of their beginning, on up to `threads` threads, of which
// this is one; workers are numbered from 0. Calls watch() in this thread, often: between its tasks, when they poll, and
// while it waits for the others. Rethrows what watch() threw, else the error of the first task that failed.
template <typename Work, typename Watch>
void run_watched(size_t n, size_t threads, Work&& work, Watch&& watch) {
    struct Stopped {};
    constexpr auto kGlance = std::chrono::milliseconds(50);
    std::atomic<size_t> next{0};
    std::atomic<bool> stopped{false};
    std::mutex mutex;
    std::condition_variable changed;
    size_t at_work = 0, failed_at = n;
    std::exception_ptr failure, alarm;

    const auto work_off = [&](size_t worker, const Poll& poll, const auto& after_task) {
        size_t i = n;
        try {
            while ((i = next.fetch_add(1)) < n) {
                work(i, worker, poll);
                after_task();
            }
        } catch (const Stopped&) {
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (failure == nullptr || i < failed_at) {
                failed_at = i;
                failure = std::current_exception();
            }
            next = n;  // tasks before this one were all taken already
        }
    };
    const auto help = [&](size_t worker) {
        work_off(
            worker,
            [&] {
                if (stopped) throw Stopped();
            },
            [] {});
        const std::lock_guard<std::mutex> lock(mutex);
        if (--at_work == 0) changed.notify_one();
    };
    std::vector<std::thread> helpers;
    try {
        for (size_t i = 1; i < std::min(threads, n); ++i) {
            {
                const std::lock_guard<std::mutex> lock(mutex);
                ++at_work;
            }
            try {
                helpers.emplace_back(help, i);
            } catch (...) {
                // No more threads to be had: go on with those there are.
                const std::lock_guard<std::mutex> lock(mutex);
                --at_work;
                break;
            }
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
        work_off(0, look, look);
        while (alarm == nullptr) {
            {
                std::unique_lock<std::mutex> lock(mutex);
                if (changed.wait_for(lock, kGlance, [&] { return at_work == 0; })) break;
            }
            try {
                look();
            } catch (const Stopped&) {
            }
        }
    } catch (...) {
        // Of this function's own, before its work began.
        alarm = std::current_exception();
        stopped = true;
        next = n;
    }
    for (std::thread& helper : helpers) helper.join();
    if (alarm) std::rethrow_exception(alarm);
    if (failure) std::rethrow_exception(failure);
}

}  // namespace crayon
