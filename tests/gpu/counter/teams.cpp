// Teams that say by hand what they do, as marked kernels do: `counter NAME WARP` prints the instructions of warps and
// of lanes. tests/gpu/test_instructions.py knows what they should be.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpu/team.h"
#include "gpu_counter/lock_step.h"
#include "gpu_counter/marks.h"

// Of three blocks of instructions.
extern const uint32_t crayon_count_weights[] = {10, 100, 1000};
extern const uint32_t crayon_count_blocks = 3;

namespace {

using crayon::gpu::Block;
using crayon::gpu::Group;
using crayon::gpu::PerLane;
using Team = Block<128>;

void times(uint32_t number, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) crayon_count_instructions(number);
}

void run(const char* name) {
    const Team block(0);
    Team::Sums sums;
    PerLane<uint32_t, 128> values;
    const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
    if (is("one_lane")) {
        block.each([](uint32_t lane) { times(0, lane == 5 ? 1 : 0); });
    } else if (is("all_lanes")) {
        block.each([](uint32_t) { times(0, 1); });
    } else if (is("two_ways")) {
        block.each([](uint32_t lane) { times(lane % 2, 1); });
    } else if (is("loops")) {  // of as many rounds as the number of a warp's lane
        block.each([](uint32_t lane) { times(0, lane % 32); });
    } else if (is("whole_block")) {
        times(0, 1);
    } else if (is("once")) {
        block.once([] { times(2, 1); });
    } else if (is("groups")) {  // of a warp's two, the one goes 1 round and the other 3; and a lane of each 2 and 4
        block.groups<16>([](const Group<16>& group, uint32_t index) {
            times(0, 1 + index % 2 * 2);
            group.each([&](uint32_t lane) { times(1, lane == 7 ? 2 + index % 2 * 2 : 0); });
        });
    } else if (is("sum")) {
        for (uint32_t lane = 0; lane < 128; ++lane) values[lane] = 1;
        if (block.exclusive_sum(values, sums) != 128 || values[127] != 127) std::exit(1);
    } else {
        std::exit(1);
    }
}

}  // namespace

int main(int, char** words) {
    crayon::gpu_counter::set_warp(uint32_t(std::atoi(words[2])));
    crayon_count_instructions(0);  // between blocks nothing counts
    for (uint32_t blocks = 0; blocks < 3; ++blocks) {
        crayon_count_block_begins(128);
        run(words[1]);
        crayon_count_block_ends();
    }
    const crayon::gpu_counter::Count count = crayon::gpu_counter::take_count();
    std::printf("%llu %llu\n", static_cast<unsigned long long>(count.of_warps),
                static_cast<unsigned long long>(count.of_lanes));
}
