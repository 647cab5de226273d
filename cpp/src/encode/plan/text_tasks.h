// Divides texts into tasks for threads: several small texts per task, and a large text into parts at its seams.
#pragma once

#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/texts/text_view.h"
#include "encode/plan/make_tasks.h"

namespace crayon {

std::vector<Task> make_text_tasks(const Engine& engine, const std::vector<TextView>& texts,
                                  const EncodeOptions& options, size_t threads);
// Tasks for counting words: always cuts large texts, at seams between words.
std::vector<Task> make_word_tasks(const Seams& seams, const std::vector<TextView>& texts);

}  // namespace crayon
