// The "post_processor" of a tokenizer.json -> PostProcessor.
#pragma once

#include "crayon/json/json.h"
#include "crayon/post/post_process.h"

namespace crayon {

// Opening a cartridge runs the steps once; published ones have up to three.
constexpr size_t kMaxPostSteps = 64;

// Every type. Errors as for make_normalizer. Error(unsupported), too, for what the reference loads and then fails to
// run: a template that names a special token which it does not define, or defines with ids and tokens of unlike length.
PostProcessor read_post_processor(const json::Value& component);

}  // namespace crayon
