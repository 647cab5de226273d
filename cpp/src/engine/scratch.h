// A thread's working memory for one engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crayon/models/models.h"
#include "crayon/pre_tokenizers/pre_tokenizers.h"
#include "crayon/support/id_buffer.h"
#include "encode/memo/memo.h"
#include "encode/memo/word_ids.h"
#include "encode/merger/merge.h"
#include "pipeline/added_matcher.h"

namespace crayon {

class Scratch {
  public:
    // `memos` is null, or points to an array of ModelScratch::kMemos memos.
    explicit Scratch(Memo* memos) : memos(memos) {}

    Memo* const memos;
    Merger merger;
    // For byte-level tables: the caches of pretokens, and of the parts that pretokens are cut into before merging.
    enum { kWords, kParts, kCaches };
    std::unique_ptr<WordIds> words[kCaches];
    size_t ends[WordIds::kBlock + 1];
    std::vector<MatchedPart> matched, inner_matched;
    AlignedText normalized;
    std::string prefixed;
    std::vector<uint32_t> characters;  // number of characters that begin before each byte of the text
    PieceList pieces;
    std::unique_ptr<ModelScratch> model;
    std::vector<ModelToken> tokens;
    IdBuffer ids;

    // For the pool: the slot that keeps this scratch between calls, and its size when it was last returned.
    size_t slot = 0, held = 0, held_with_memos = 0;

    // Releases the memo between calls.
    void rest() {
        for (const auto& cache : words)
            if (cache != nullptr) cache->rest();
        if (model != nullptr) model->rest();
    }

    // Frees memory that an unusually large input took.
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
        trim_to(&matched, size_t(1) << 15);
        trim_to(&inner_matched, size_t(1) << 15);
    }

    // The number of allocated bytes, small allocations not counted.
    size_t bytes() const {
        size_t bytes = sizeof *this + merger.bytes() + 4 * ids.capacity();
        for (const auto& cache : words)
            if (cache != nullptr) bytes += cache->bytes();
        if (model != nullptr) bytes += model->bytes();
        for (const AlignedText* text : {&normalized, &pieces.text, &pieces.spare_text})
            bytes += text->text.capacity() + text->alignments.capacity() * sizeof(Alignment);
        return bytes + prefixed.capacity() + capacity_of(characters) + capacity_of(pieces.pieces) +
               capacity_of(pieces.spare_pieces) + capacity_of(tokens) + capacity_of(matched) +
               capacity_of(inner_matched);
    }

  private:
    template <typename T>
    static size_t capacity_of(const std::vector<T>& values) {
        return values.capacity() * sizeof(T);
    }
    template <typename T>
    static void trim_to(T* container, size_t limit) {
        if (container->capacity() > limit) T().swap(*container);
    }
};

}  // namespace crayon
