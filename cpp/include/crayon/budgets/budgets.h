// Texts in budgets of tokens: counted up to a limit, and cut. Texts are encoded no further than that takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "crayon/batch/text_view.h"
#include "crayon/engine/engine.h"

namespace crayon {

// How many tokens texts have, or `limit` + 1 for those that have more. Throws NotUnicode.
std::vector<int64_t> count_up_to(const Engine& engine, const std::vector<TextView>& texts, const EncodeOptions& options,
                                 size_t limit, size_t threads);

// Where a text is to be cut so that the part on the other side of `cut_off` encodes to at most `most` tokens, special
// ones around it included: see TextIndex::longest and longest_before. The size of the text, or 0, if all of it is
// kept. A unit of the text must be a character. Error(argument) where special tokens alone are more; throws NotUnicode.
size_t truncation_place(const std::shared_ptr<const Engine>& engine, const TextView& text, size_t most, Side cut_off,
                        const EncodeOptions& options);

}  // namespace crayon
