// What an engine derives when it opens: no tables over the vocabulary, unless it has added tokens of its own.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "bpe/byte_cuts.h"
#include "bpe/merge.h"
#include "crayon/engine/engine.h"
#include "crayon/post/post_process.h"
#include "engine/decode_table.h"
#include "engine/pipeline.h"
#include "engine/scratch_pool.h"
#include "engine/segment_encoder.h"
#include "engine/vocabulary.h"

namespace crayon {

// An engine's seams (seams.h) for ids, made when they are first asked for.
class LazySeams {
  public:
    ~LazySeams();
    const Seams& get(const Engine& engine, bool special_as_text) const;
    // Those for offsets as well: Seams::of_encodings.
    const Seams& of_encodings(const Engine& engine, bool special_as_text) const;

  private:
    mutable std::atomic<const Seams*> made_[4] =
        {};  // special tokens are looked for, or they are text; then the others
};

struct Engine::Impl {
    CpuLevel level;
    Flavor flavor;
    Pipeline pipeline;
    std::optional<Vocabulary> vocabulary;
    mutable LazyDecodeTable decode_table;
    LazySeams seams;
    MergeTables merges;  // of byte-level tables that have merges, as are the cuts
    ByteCuts cuts;
    TrimInfo trim;
    std::optional<SingleFrame> single;
    std::optional<PairFrame> pair;
    UnknownIds unknown;
    std::shared_ptr<ScratchPool> pool = std::make_shared<ScratchPool>();  // shared with engines of the same words

    // Whether even ids alone depend on where text comes from.
    bool aligns_ids() const { return pipeline.pre_tokenizer != nullptr && pipeline.pre_tokenizer->needs_alignments(); }
    // Of a model that takes text before its spaces become U+2581 (Model::encode_spaced): what the normalizer does, and
    // what a text must not hold: the contents that are looked for in normalized text, without the marks in front.
    std::optional<SpaceMarks> spaced;
    DoubleArray unspaced_trie;
    AddedMatcher unspaced;
    // What such a text has, any of them, that the pre-tokenizer does not leave whole; none where that is not known.
    std::optional<std::vector<Regex::Needed>> needed_to_cut;

    // Whether ids do not depend on which white space stands where there is some.
    bool words_only() const {
        return pipeline.pre_tokenizer != nullptr && pipeline.pre_tokenizer->drops_white() && !pipeline.joins_pieces &&
               vocabulary->normalized_matcher().empty();
    }
    // Whether no text is an error, so that one that is truncated need not be read to its end.
    bool takes_any_text = false;
    bool on_bytes() const { return pipeline.model == nullptr; }
    SegmentTables tables(const Cartridge& cartridge) const {
        return {cartridge,
                merges,
                cuts,
                pipeline.scan,
                pipeline.matches ? &pipeline.match : nullptr,
                pipeline.seams.get(),
                word_kernels(level)};
    }
};

}  // namespace crayon
