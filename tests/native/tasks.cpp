// Tests the threads that run tasks (encode/run/task_runner.h).
#include <chrono>
#include <stdexcept>

#include "check.h"
#include "encode/run/task_runner.h"

using namespace crayon;

namespace {

struct Interrupted {};

}  // namespace

// An interrupt ends the other threads' tasks, also after one task has failed.
TEST(watching_goes_on_after_a_failure) {
    std::atomic<bool> has_begun{false}, has_failed{false};
    const auto work = [&](size_t, size_t worker, const Poll& poll) {
        if (worker == 0) {
            while (!has_begun) std::this_thread::yield();
            has_failed = true;
            throw std::runtime_error("of a task");
        }
        has_begun = true;
        for (;;) poll();
    };
    int looks = 0;
    const auto watch = [&] {
        if (has_failed && ++looks > 2) throw Interrupted();
    };
    bool is_interrupted = false;
    try {
        run_watched(2, 2, work, watch);
    } catch (const Interrupted&) {
        is_interrupted = true;
    }
    CHECK(is_interrupted);
}

TEST(a_single_task_is_watched) {
    int looks = 0;
    run_watched(
        1, 1, [](size_t, size_t, const Poll&) {}, [&] { ++looks; });
    CHECK(looks > 0);
}
