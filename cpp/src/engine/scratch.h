// A thread's working memory for one engine, and the pool that lends it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bpe/merge.h"
#include "bpe/merge_batch.h"
#include "bpe/piece_ring.h"
#include "bpe/word_block.h"
#include "bpe/word_cache.h"
#include "crayon/models/models.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/id_buffer.h"
#include "engine/added_matcher.h"

namespace crayon {

class Scratch {
  public:
    static constexpr size_t kBlock = 256;  // pretokens looked up together

    Merger merger;
    WordCache cache;
    std::optional<WordCache> parts;  // of what merging makes of parts of long pretokens
    PieceRing ring;
    size_t ends[kBlock + 1];
    WordBlock<kBlock> block;
    MergeTask tasks[kBlock];
    uint32_t merged[kBlock][MergeTask::kRoom];  // what they write
    std::vector<Segment> segments, inner_segments;
    AlignedText normalized;
    std::string prefixed;
    std::vector<uint32_t> characters;  // characters that begin before each byte of the text
    PieceList pieces;
    std::unique_ptr<ModelScratch> model;
    std::vector<ModelToken> tokens;
    IdBuffer ids;

    // Gives back what an unusually large input made grow.
    void trim() {
        merger.trim();
        ids.trim(size_t(1) << 18);
        if (model != nullptr) model->trim();
        for (AlignedText* text : {&normalized, &pieces.text, &pieces.spare_text}) {
            trim_to(&text->text, size_t(1) << 20);
            trim_to(&text->alignments, size_t(1) << 17);
        }
        trim_to(&prefixed, size_t(1) << 20);
        trim_to(&characters, size_t(1) << 18);
        trim_to(&pieces.pieces, size_t(1) << 17);
        trim_to(&pieces.spare_pieces, size_t(1) << 17);
        trim_to(&tokens, size_t(1) << 16);
        trim_to(&segments, size_t(1) << 15);
        trim_to(&inner_segments, size_t(1) << 15);
    }

  private:
    template <typename T>
    static void trim_to(T* container, size_t limit) {
        if (container->capacity() > limit) T().swap(*container);
    }
};

// Never waits for a lock: a child of fork() would wait for ever on one that a thread of its parent held.
class ScratchPool {
  public:
    // Room for all that is kept, so that giving back cannot fail.
    ScratchPool() { free_.reserve(kKept); }

    std::unique_ptr<Scratch> take() {
        std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock() || free_.empty()) return std::make_unique<Scratch>();
        std::unique_ptr<Scratch> scratch = std::move(free_.back());
        free_.pop_back();
        return scratch;
    }
    void give(std::unique_ptr<Scratch> scratch) {
        scratch->trim();
        std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (lock.owns_lock() && free_.size() < kKept) free_.push_back(std::move(scratch));
    }

  private:
    static constexpr size_t kKept = 64;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace crayon
