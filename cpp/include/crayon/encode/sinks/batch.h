// Batch calls over threads. Threads are started for one call and joined before it returns, so a fork between calls
// loses no thread. Results are in input order and do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/texts/text_view.h"

namespace crayon {

// The calls below also spread one large text over threads, by cutting it at seams (seams.h). They throw NotUnicode.

template <typename Id>
struct RaggedIds {
    GrowingIds<Id> ids;
    std::vector<int64_t> splits;  // one more than texts: text i has ids[splits[i]] to ids[splits[i + 1]]
};
using Ragged = RaggedIds<int32_t>;
Ragged encode_ragged(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                     size_t threads);

std::vector<int64_t> count_tokens(const Engine& engine, const std::vector<TextView>& texts,
                                  const EncodeOptions& options, size_t threads);

// Finished ids, in input order. A large text arrives in several parts; `is_last` marks the final one.
struct ReadyIds {
    size_t text;
    const int32_t* ids;
    size_t size;
    bool is_last;
};
// Receives finished ids. Returns whether it waited long for the GIL; encode_each then calls it less often.
using OnReady = std::function<bool(const std::vector<ReadyIds>&)>;
// Encodes in other threads and calls `on_ready` in this thread with the ids of finished tasks.
void encode_each(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options, size_t threads,
                 const OnReady& on_ready);

struct Input {
    Sequence first, second;
    bool is_pair = false;
};
std::vector<Encoding> encode_batch(const Engine& engine, const std::vector<Input>& inputs, const EncodeOptions& options,
                                   size_t threads);

// Decodes in other threads and calls on_decoded(first, texts, count) in this thread: the texts of sequences first to
// first + count - 1 are finished. The calls are in order of the sequences.
using OnDecoded = std::function<void(size_t, const DecodedText*, size_t)>;
void decode_each(const Engine& engine, const std::vector<IdView>& sequences, bool skip_special_tokens,
                 bool skip_unknown, size_t threads, const OnDecoded& on_decoded);

}  // namespace crayon
