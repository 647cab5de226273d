// Runs tasks in threads that borrow working memory of an engine.
#pragma once

#include <algorithm>
#include <deque>
#include <type_traits>

#include "crayon/engine/engine.h"
#include "crayon/support/interrupt.h"
#include "encode/run/task_runner.h"

namespace crayon {

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

}  // namespace crayon
