// Batches over threads. Threads are started for a call and end with it: nothing is left for a fork to lose. Results are
// in the order of the inputs and do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "crayon/batch/text_view.h"
#include "crayon/engine/engine.h"

namespace crayon {

// `threads` when it is not 0; else CRAYON_NUM_THREADS; else 1 when TOKENIZERS_PARALLELISM says "false", "off" or "0";
// else the number of cores that this process may use (cores.h).
size_t thread_count(size_t threads);
// The same for so many bytes of text. A number that is not asked for is as many as have 256 KiB each; one that is may
// be up to twice the cores, or 8: more have no use, and each keeps memory.
size_t thread_count(size_t threads, size_t bytes);

// Texts of TextViews may be huge: one text, too, is cut for threads, where it has seams (seams.h). Throws NotUnicode.

struct Ragged {
    IdBuffer ids;
    std::vector<int64_t> splits;  // one more than texts; text i has ids[splits[i]] to ids[splits[i + 1]]
};
Ragged encode_ragged(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                     size_t threads);

std::vector<int64_t> count_tokens(const Engine& engine, const std::vector<TextView>& texts,
                                  const EncodeOptions& options, size_t threads);

// The ids of texts as they become ready, in order. Those of a large text come in parts; the last part is marked.
struct ReadyIds {
    size_t text;
    const int32_t* ids;
    size_t size;
    bool is_last;
};
// Whether it had to wait long before it could work. Then it is called seldom from there on.
using OnReady = std::function<bool(const std::vector<ReadyIds>&)>;
// Calls on_ready in this thread, with what some tasks gave, while others go on.
void encode_each(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options, size_t threads,
                 const OnReady& on_ready);

struct Input {
    Sequence first, second;
    bool is_pair = false;
};
std::vector<Encoding> encode_batch(const Engine& engine, const std::vector<Input>& inputs, const EncodeOptions& options,
                                   size_t threads);

// Calls on_decoded(first, texts, count) in this thread, with what some tasks gave, while others go on.
using OnDecoded = std::function<void(size_t, const DecodedText*, size_t)>;
void decode_each(const Engine& engine, const std::vector<IdView>& sequences, bool skip_special_tokens,
                 bool skip_unknown, size_t threads, const OnDecoded& on_decoded);

}  // namespace crayon
