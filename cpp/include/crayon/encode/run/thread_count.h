// The number of threads of a call.
#pragma once

#include <cstddef>

namespace crayon {

// Returns the number of threads of a call: `threads`, or CRAYON_NUM_THREADS if `threads` is 0. Without either, returns
// 1 if TOKENIZERS_PARALLELISM is "false", "off" or "0", else the cores that this process may use (cores.h).
size_t thread_count(size_t threads);
// The number of threads for a batch of `bytes` bytes of text. If `threads` is 0, limits the number to one thread per
// 256 KiB. Limits any other number to twice the cores, or to 8 if that is more, because each thread keeps memory.
size_t thread_count(size_t threads, size_t bytes);

}  // namespace crayon
