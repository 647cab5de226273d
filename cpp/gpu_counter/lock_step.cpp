#include "lock_step.h"

#include <algorithm>
#include <array>
#include <vector>

#include "marks.h"

namespace crayon {
namespace gpu_counter {
namespace {

constexpr uint32_t kMostLanes = 64;

// The number that counts single instructions of device branches. It is one more than that of any basic block.
uint32_t more() {
    return crayon_count_blocks;
}
uint32_t weight(uint32_t number) {
    return number == more() ? 1 : crayon_count_weights[number];
}

// How often a team ran each basic block. `lanes` of its lanes run the team's own code.
class Steps {
  public:
    void begin(uint32_t lanes) { lanes_ = lanes; }
    void add(uint32_t number, uint32_t times) {
        add_times(number, times);
        of_lanes_ += uint64_t(times) * weight(number) * lanes_;
    }
    // Adds the steps of lanes or groups that run in lockstep: each basic block counts as often as in the part that ran
    // it most often.
    void add_together(Steps* parts, uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            of_lanes_ += parts[i].of_lanes_;
            for (const uint32_t number : parts[i].known_) {
                uint32_t most = 0;
                for (uint32_t k = i; k < count; ++k) {
                    if (number >= parts[k].times_.size()) continue;
                    most = std::max(most, parts[k].times_[number]);
                    parts[k].times_[number] = 0;
                }
                add_times(number, most);
            }
        }
        for (uint32_t i = 0; i < count; ++i) parts[i].clear();
    }
    // Returns the instructions of `warps` warps that each ran all these steps.
    Count take(uint32_t warps) {
        Count all;
        for (const uint32_t number : known_) all.of_warps += uint64_t(warps) * weight(number) * times_[number];
        all.of_lanes = of_lanes_;
        clear();
        return all;
    }

  private:
    void add_times(uint32_t number, uint32_t times) {
        if (times == 0) return;
        if (times_.empty()) times_.resize(more() + 1);
        if (times_[number] == 0) known_.push_back(number);
        times_[number] += times;
    }
    void clear() {
        for (const uint32_t number : known_) times_[number] = 0;
        known_.clear();
        of_lanes_ = 0;
    }

    uint32_t lanes_ = 1;
    uint64_t of_lanes_ = 0;
    std::vector<uint32_t> times_;  // by number
    std::vector<uint32_t> known_;  // numbers with times_ > 0
};

struct Counter {
    uint32_t warp_lanes = 32;
    Count total;
    uint32_t threads = 0;
    Steps block;                           // Run by all warps of the block.
    Steps warp;                            // Run by one warp alone.
    std::array<Steps, kMostLanes> lanes;   // of a warp or a group
    std::array<Steps, kMostLanes> groups;  // of a warp
    Steps* now = nullptr;                  // the team or lane that runs; null between blocks
    Steps* team = nullptr;                 // around `each`
    bool in_group = false;
    bool is_paused = false;

    // A group's lanes count for the group, a block's for the warp.
    void end_lanes() {
        if (in_group) {
            team->add_together(lanes.data(), warp_lanes);
        } else {
            warp.add_together(lanes.data(), warp_lanes);
            end_warp();
        }
    }
    void end_groups() {
        warp.add_together(groups.data(), warp_lanes);
        end_warp();
    }
    void end_warp() { add(warp.take(1)); }
    void add(Count count) {
        total.of_warps += count.of_warps;
        total.of_lanes += count.of_lanes;
    }
};

Counter& counter() {
    static Counter one;
    return one;
}

}  // namespace

void set_warp(uint32_t lanes) {
    counter().warp_lanes = lanes;
}

Count take_count() {
    const Count count = counter().total;
    counter().total = {};
    return count;
}

}  // namespace gpu_counter
}  // namespace crayon

using crayon::gpu_counter::Counter;
using crayon::gpu_counter::counter;
using crayon::gpu_counter::more;

void crayon_count_instructions(uint32_t number) {
    Counter& c = counter();
    if (c.now != nullptr && !c.is_paused) c.now->add(number, 1);
}

void crayon_count_more(uint32_t instructions) {
    Counter& c = counter();
    if (c.now != nullptr && !c.is_paused) c.now->add(more(), instructions);
}

void crayon_count_pause() {
    counter().is_paused = true;
}

void crayon_count_resume() {
    counter().is_paused = false;
}

void crayon_count_block_begins(uint32_t threads) {
    Counter& c = counter();
    c.threads = threads;
    c.block.begin(threads);
    c.now = &c.block;
}

void crayon_count_block_ends() {
    Counter& c = counter();
    c.add(c.block.take((c.threads + c.warp_lanes - 1) / c.warp_lanes));
    c.now = nullptr;
}

void crayon_count_each_begins() {
    counter().team = counter().now;
}

void crayon_count_lane(uint32_t lane) {
    Counter& c = counter();
    if (lane > 0 && lane % c.warp_lanes == 0) c.end_lanes();
    c.now = &c.lanes[lane % c.warp_lanes];
}

void crayon_count_each_ends() {
    Counter& c = counter();
    c.end_lanes();
    c.now = c.team;
}

void crayon_count_group(uint32_t width, uint32_t index) {
    Counter& c = counter();
    const uint32_t place = index % (c.warp_lanes / width);
    if (index > 0 && place == 0) c.end_groups();
    c.in_group = true;
    c.groups[place].begin(width);
    c.now = &c.groups[place];
}

void crayon_count_groups_end() {
    Counter& c = counter();
    c.end_groups();
    c.in_group = false;
    c.now = &c.block;
}
