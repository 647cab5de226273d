// The data that an engine derives when it opens. Contains no tables over the vocabulary, unless the engine has added
// tokens of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "crayon/engine/engine.h"
#include "crayon/post/post_process.h"
#include "encode/cutter/seams.h"
#include "encode/merger/byte_cuts.h"
#include "encode/merger/merge.h"
#include "engine/byte_level.h"
#include "engine/decode_table.h"
#include "engine/scratch_pool.h"
#include "pipeline/pipeline.h"
#include "pipeline/vocabulary.h"

namespace crayon {

struct Engine::Impl {
    const Kernels* kernels;
    Pipeline pipeline;
    std::optional<Vocabulary> vocabulary;
    mutable LazyDecodeTable decode_table;
    LazySeams seams;
    MergeTables merges;  // for byte-level tables with merges, like the byte cuts
    ByteCuts cuts;
    TrimInfo trim;
    std::optional<Surrounds> surrounds[2];  // of a text alone and of a pair, if special ids only surround them
    UnknownIds unknown;
    std::shared_ptr<ScratchPool> pool = std::make_shared<ScratchPool>();  // shared by engines that give words the same
                                                                          // ids

    const Seams& encoding_seams(bool special_as_text) const {
        return seams.of_encodings(pipeline, *vocabulary, special_as_text);
    }
    // Whether ids depend on alignments.
    bool aligns_ids() const { return pipeline.pre_tokenizer != nullptr && pipeline.pre_tokenizer->needs_alignments(); }
    // For a model that takes text before its spaces become U+2581 (Model::encode_spaced): the normalizer's changes, and
    // strings that the text must not contain. These strings are the contents of added tokens that are searched in
    // normalized text, without the marks in front.
    std::optional<SpaceMarks> spaced;
    DoubleArray unspaced_trie;
    AddedMatcher unspaced;
    // A text that the pre-tokenizer cuts fulfils one of these requirements. The value is empty if they are unknown.
    std::optional<std::vector<Regex::Needed>> needed_to_cut;

    // Whether ids do not depend on the kind of white space between words.
    bool words_only() const {
        return pipeline.pre_tokenizer != nullptr && pipeline.pre_tokenizer->drops_white() && !pipeline.joins_pieces &&
               vocabulary->normalized_matcher().empty();
    }
    // Whether a truncated text need not be read to its end: encoding any text succeeds, and gives the same ids again.
    bool stops_early = false;
    // Returns the size of the part of a text to encode first if `most` tokens are needed, or 0 for the whole text. If
    // the part has fewer tokens, larger ones follow.
    size_t first_part(Bytes text, size_t most) const {
        const size_t size = std::max(size_t(1) << 12, 8 * std::min(most, text.size));
        return stops_early && size <= text.size / 2 ? size : 0;
    }
    bool on_bytes() const { return pipeline.model == nullptr; }
    ByteLevelTables tables(const Cartridge& cartridge) const {
        return {cartridge,
                merges,
                cuts,
                pipeline.scan,
                pipeline.matches ? &pipeline.match : nullptr,
                pipeline.seams.get(),
                kernels->words};
    }
};

}  // namespace crayon
