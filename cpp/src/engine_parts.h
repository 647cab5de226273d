// What an engine derives from its cartridge when it opens: constant-size views, no tables.
#pragma once

#include "added_matcher.h"
#include "crayon/engine.h"
#include "crayon/pretokenize.h"
#include "merge.h"
#include "scratch.h"

namespace crayon {

struct Engine::Parts {
    MergeTables merges;
    ScanFunction scan;
    CpuLevel level;
    AddedMatcher added, added_normalized;
    PostProcessor post_processor;
    TrimInfo trim;
    std::vector<int32_t> prefix, suffix;  // special ids around a single sequence
    bool framed;                          // prefix and suffix say all that the post-processor does to ids
    bool ignore_merges, add_prefix_space;
    NormalizerKind normalizer;
    mutable ScratchPool pool;
};

}  // namespace crayon
