// Reads the "post_processor" of a tokenizer.json.
#pragma once

#include "crayon/json/json.h"
#include "crayon/post/post_process.h"

namespace crayon {

// Opening a cartridge runs the steps once; published post-processors have up to three.
constexpr size_t kMaxPostSteps = 64;

// Reads every type of post-processor. Throws the errors of make_normalizer. Throws Error(unsupported) also if the
// reference loads the post-processor but cannot run it. An example is a template that does not define a special token,
// or defines one with different numbers of ids and tokens.
PostProcessor read_post_processor(const json::Value& component);

}  // namespace crayon
