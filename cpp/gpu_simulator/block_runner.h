// Runs a block: each lane is a fiber, and the next lane to run is chosen at random among the ready ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lanes.h"

namespace crayon {
namespace gpu_simulator {

class Fiber;

enum class Lockstep {
    named,    // CUDA: lanes wait for all lanes that they name
    present,  // HIP: lanes continue without lanes that do not arrive; those give the value zero
};

struct Rules {
    uint32_t warp;  // in lanes: 32 or 64
    Lockstep lockstep;
};

// Addresses by which ThreadSanitizer orders a block's work (tsan_release in fiber.h). The caller releases `before`
// before the block runs; each lane releases `after` at its end.
struct Orders {
    void* before;
    void* after;
};

// Use it from one thread at a time.
class BlockRunner {
  public:
    explicit BlockRunner(Rules rules);
    ~BlockRunner();

    // Calls f(argument) in `threads` lanes, in an order that `seed` decides. Returns "" or the fault. Faults are lanes
    // that never end or wait for each other. Lanes may also exit while others wait for the block, or wait for it at
    // different places.
    std::string run(uint32_t threads, uint64_t seed, void (*f)(void*), void* argument, Orders orders);

  private:
    enum class Kind { block, warp, exchange };
    struct Wait;
    struct Lane;
    struct Meeting;
    struct Warp;
    friend uint32_t thread_index();
    friend uint32_t lane_in_warp();
    friend void meet_in_block(const Site&);
    friend void meet_in_warp(const Site&, uint64_t);
    friend void fence();
    friend uint64_t exchange(const Site&, uint64_t, uint64_t, uint32_t);
    friend void let_others();

    static BlockRunner& current();
    static void lane_main(void* lane);

    // Called by lanes:
    uint64_t meet(const Wait& wait);
    void pause();
    void* tag_of(const Wait& wait);

    // Called by the scheduler:
    void run_lanes();
    uint64_t chance();
    void make_ready(Lane* lane);
    Lane* take_ready();
    void after_leaving(Lane* lane);
    void after_arriving(Lane* lane);
    void arrived_in_block(Lane* lane);
    void arrived_in_warp(Lane* lane);
    bool go_on_without_all();
    void finish(const Lane& lane, uint64_t lanes);
    uint64_t lanes_beside(const Lane& lane) const;
    Lane* lane_of(uint32_t warp, uint32_t index) const;
    Meeting& meeting(uint32_t warp, uint64_t lanes);
    std::string who_waits() const;

    const Rules rules_;
    std::vector<std::unique_ptr<Lane>> lanes_;

    // The running block:
    Fiber* scheduler_ = nullptr;
    Lane* now_ = nullptr;
    void (*f_)(void*) = nullptr;
    void* argument_ = nullptr;
    Orders orders_{};
    uint32_t threads_ = 0, in_block_ = 0, left_ = 0;
    uint64_t seed_ = 0, random_ = 0, order_ = 0, steps_ = 0, barriers_ = 0;
    std::vector<Lane*> ready_;  // a heap
    std::string error_;
    // For ThreadSanitizer. Odd and even barriers of the same lanes use different addresses. Otherwise a lane that
    // reaches the next barrier would be ordered with one that has not left this one.
    std::unique_ptr<char[]> block_tags_;
    std::vector<Warp> warps_;
};

}  // namespace gpu_simulator
}  // namespace crayon
