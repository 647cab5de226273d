// Inputs grouped into tasks that are worth a thread's while, and threads that work them off.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "crayon/engine.h"
#include "scratch.h"

namespace crayon {

// Work for which starting a thread pays.
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

// Runs work(task index, scratch) for every task; rethrows the error of the first task that failed.
template <typename Work>
void run_tasks(const Engine& engine, size_t n, size_t threads, Work&& work) {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    size_t failed_at = n;
    std::exception_ptr failure;
    const auto run = [&] {
        size_t i = 0;
        try {
            const Engine::Lease lease(engine);
            while ((i = next.fetch_add(1)) < n) work(i, *lease);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex);
            if (failure == nullptr || i < failed_at) {
                failed_at = i;
                failure = std::current_exception();
            }
            next = n;  // tasks before this one were all taken already
        }
    };
    std::vector<std::thread> helpers;
    const size_t wanted = std::min(threads, n);
    for (size_t i = 1; i < wanted; ++i) {
        try {
            helpers.emplace_back(run);
        } catch (const std::system_error&) {
            break;  // no more threads to be had: go on with those there are
        }
    }
    run();
    for (std::thread& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
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
