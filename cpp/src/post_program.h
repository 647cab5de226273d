// The post-processor section of a cartridge: a PostProcessor as a stream of 32-bit words.
//   stream   := n_steps step*
//   step     := kind flags sep cls n_single piece* n_pair piece*     (flags: 1 add_prefix_space, 2 trim_offsets)
//   piece    := is_sequence sequence type_id n_ids id*
#pragma once

#include <vector>

#include "crayon/bytes.h"
#include "crayon/post_process.h"

namespace crayon {

// Opening a cartridge runs the steps once; published ones have up to three.
constexpr size_t kMaxPostSteps = 64;

std::vector<uint32_t> write_post_program(const PostProcessor& processor);

// Error(cartridge) when the stream is cut, has words left over, or names an id of n_ids or more.
PostProcessor read_post_program(Array<uint32_t> words, uint32_t n_ids);

}  // namespace crayon
