// Makes each allocation fail once. The call may then fail or succeed, and the process must continue.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "check.h"
#include "engine/leased_tasks.h"
#include "engine/scratch.h"
#include "support/memory_limit.h"

using namespace crayon;

namespace {

std::atomic<int64_t> until_failure{-1};  // number of allocations until one fails; below 0: none fails

// Runs `work` repeatedly until each of its allocations has failed once.
template <typename Work>
void fail_each_allocation(Work&& work) {
    for (int64_t n = 0;; ++n) {
        until_failure = n;
        try {
            work();
        } catch (const std::bad_alloc&) {
        }
        if (until_failure.exchange(-1) >= 0) return;
    }
}

}  // namespace

void* operator new(size_t size) {
    if (until_failure >= 0 && until_failure.fetch_sub(1) == 0) throw std::bad_alloc();
    void* const made = std::malloc(size > 0 ? size : 1);
    if (made == nullptr) throw std::bad_alloc();
    return made;
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
    std::free(memory);
}

// The engine is not linked here, and the tasks use none.
Engine::Lease::Lease(const Engine& engine, size_t worker) : engine_(engine), worker_(worker) {}
Engine::Lease::~Lease() = default;

TEST(tasks_without_memory_for_a_thread) {
    alignas(Engine) static char place[sizeof(Engine)];
    const Engine& none = *reinterpret_cast<const Engine*>(place);
    fail_each_allocation([&] {
        std::atomic<size_t> done{0};
        run_tasks(none, 50, 8, [&](size_t) { ++done; });
        CHECK(done == 50);
    });
}

TEST(watched_tasks_without_memory_for_a_thread) {
    fail_each_allocation([] {
        std::atomic<size_t> done{0};
        run_watched(
            50, 8, [&](size_t, size_t, const Poll&) { ++done; }, [] {});
        CHECK(done == 50);
    });
}

// memory_limit() is called by a noexcept function when a thread returns its scratch, so it must not throw.
TEST(a_limit_of_memory_without_memory) {
    set_memory_limit(0);
    fail_each_allocation([] { CHECK(memory_limit() >= size_t(1) << 20); });
}
