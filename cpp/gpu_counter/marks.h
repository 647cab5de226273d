// What the kernels tell the counter as they run on the CPU, one lane after the other. tools/gpu_counter.py puts the
// calls of teams into a copy of team.h, and those of blocks of instructions into what clang++ made of the kernels.
#pragma once

#include <cstdint>

extern "C" {

// One block of instructions without a branch is about to run.
void crayon_count_instructions(uint32_t number);
// So many instructions that the device's branch has and the CPU's has not: shuffles, barriers.
void crayon_count_more(uint32_t instructions);
// What the CPU does between these two, a GPU does otherwise.
void crayon_count_pause();
void crayon_count_resume();

void crayon_count_block_begins(uint32_t threads);
void crayon_count_block_ends();
// `each` of a block or a group, lane by lane.
void crayon_count_each_begins();
void crayon_count_lane(uint32_t lane);
void crayon_count_each_ends();
// The groups of a block, one by one.
void crayon_count_group(uint32_t width, uint32_t index);
void crayon_count_groups_end();

// Of each block of instructions how many it has; and how many blocks there are. Made with the marks.
extern const uint32_t crayon_count_weights[];
extern const uint32_t crayon_count_blocks;
}
