// Counts tokens up to a limit and truncates texts to a budget. Encodes no more text than the answer needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/texts/text_view.h"

namespace crayon {

// Returns the number of tokens of each text, or `limit` + 1 if the text has more. Throws NotUnicode.
std::vector<int64_t> count_up_to(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                                 size_t limit, size_t threads);

// Returns where to cut a text so that the remaining part encodes to at most `most` tokens, special tokens included.
// `cut_off` is the side to remove; see TextIndex::longest and longest_before. If the whole text fits, returns its size,
// or 0 if `cut_off` is left. Each unit of the text (text_view.h) must be a character. Throws Error(argument) if the
// special tokens alone exceed `most`, and NotUnicode.
size_t truncation_place(const std::shared_ptr<const Engine>& engine, const TextView& text, size_t most, Side cut_off,
                        const EncodeOptions& options);

}  // namespace crayon
