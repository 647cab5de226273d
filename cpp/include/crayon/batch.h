// Batches over threads. Threads are started for a call and end with it: nothing is left for a fork to lose. Results are
// in the order of the inputs and do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crayon/engine.h"

namespace crayon {

// `threads` when it is not 0; else CRAYON_NUM_THREADS; else 1 when TOKENIZERS_PARALLELISM says "false", "off" or "0";
// else the number of cores that this process may use.
size_t thread_count(size_t threads);

struct Ragged {
    IdBuffer ids;
    std::vector<int64_t> splits;  // one more than texts; text i has ids[splits[i]] to ids[splits[i + 1]]
};
Ragged encode_ragged(const Engine& engine, const std::vector<Bytes>& texts, const EncodeOptions& options,
                     size_t threads);

std::vector<int64_t> count_tokens(const Engine& engine, const std::vector<Bytes>& texts, const EncodeOptions& options,
                                  size_t threads);

struct Input {
    Sequence first, second;
    bool is_pair = false;
};
std::vector<Encoding> encode_batch(const Engine& engine, const std::vector<Input>& inputs, const EncodeOptions& options,
                                   size_t threads);

std::vector<std::string> decode_batch(const Engine& engine, const std::vector<Array<int64_t>>& sequences,
                                      bool skip_special_tokens, bool skip_unknown, size_t threads);

}  // namespace crayon
