#include "simulator.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "fiber.h"

namespace crayon {
namespace gpu_simulator {
namespace {

constexpr int kPoison = 0xA5;

struct LaneWork {
    const SimulatedKernel* kernel;
    uint32_t block;
    const void* work;
    void* shared;
};

void run_lane(void* argument) {
    const LaneWork& of = *static_cast<const LaneWork*>(argument);
    of.kernel->run(of.block, of.work, of.shared);
}

}  // namespace

Simulator::Simulator(Options options)
    : options_(options), kernels_(options.runtime == Runtime::cuda ? kernels_of_cuda() : kernels_of_hip()) {
    const Rules rules{options.warp, options.runtime == Runtime::cuda ? Lockstep::named : Lockstep::present};
    for (uint32_t i = 0; i < options.blocks; ++i) runners_.push_back(std::make_unique<BlockRunner>(rules));
}

std::string Simulator::run(uint32_t number, uint32_t blocks, const void* work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const SimulatedKernel& kernel = kernels_[number];
    std::mt19937_64 random(options_.seed + ++launches_ * 0x9E3779B97F4A7C15u);
    std::vector<uint32_t> order(blocks);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const uint64_t seed = random();

    // The simulator's own work between two blocks must not order them for ThreadSanitizer. So each block has memory and
    // addresses of its own, until all have ended.
    using Words = std::unique_ptr<std::max_align_t[]>;
    std::vector<Words> kept(blocks);
    std::vector<char> before(blocks);
    char after = 0;

    std::atomic<uint32_t> next{0};
    std::mutex failing;
    std::string failed;
    const auto work_off = [&](BlockRunner* runner) {
        for (uint32_t i; (i = next.fetch_add(1)) < blocks;) {
            const uint32_t block = order[i];
            const size_t words = kernel.shared_bytes / sizeof(std::max_align_t) + 1;
            kept[block] = Words(new std::max_align_t[words]);
            std::memset(static_cast<void*>(kept[block].get()), kPoison, words * sizeof(std::max_align_t));
            tsan_release(&before[block]);
            LaneWork lane{&kernel, block, work, kept[block].get()};
            const std::string wrong =
                runner->run(kernel.threads, seed + block, run_lane, &lane, {&before[block], &after});
            if (!is_under_tsan()) kept[block].reset();
            if (wrong.empty()) continue;
            next = blocks;
            const std::lock_guard<std::mutex> failing_lock(failing);
            failed = std::string("kernel ") + kernel.name + ", block " + std::to_string(block) + ": " + wrong;
        }
    };
    std::vector<std::thread> threads;
    for (uint32_t i = 1; i < std::min<uint32_t>(blocks, options_.blocks); ++i)
        threads.emplace_back(work_off, runners_[i].get());
    work_off(runners_[0].get());
    for (std::thread& thread : threads) thread.join();
    tsan_acquire(&after);
    return failed;
}

}  // namespace gpu_simulator
}  // namespace crayon
