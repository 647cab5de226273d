// Calls from the kernels to the counter while they run on the CPU, one lane after the other. The tool
// tools/gpu_counter.py inserts the calls of teams into a copy of team.h, and the calls of basic blocks into clang++'s
// output.
#pragma once

#include <cstdint>

extern "C" {

// Reports that the basic block with this number is about to run.
void crayon_count_instructions(uint32_t number);
// Counts instructions that only the device's branch has: shuffles, barriers.
void crayon_count_more(uint32_t instructions);
// Nothing is counted between these two calls, because a GPU does this work differently.
void crayon_count_pause();
void crayon_count_resume();

void crayon_count_block_begins(uint32_t threads);
void crayon_count_block_ends();
// Report a call of `each` of a block or a group: its begin, each lane, its end.
void crayon_count_each_begins();
void crayon_count_lane(uint32_t lane);
void crayon_count_each_ends();
// Report the groups of a block: each group before it runs, and the end of the last one.
void crayon_count_group(uint32_t width, uint32_t index);
void crayon_count_groups_end();

// The instructions of each basic block, and the number of blocks. Generated with the marks.
extern const uint32_t crayon_count_weights[];
extern const uint32_t crayon_count_blocks;
}
