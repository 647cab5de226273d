// Cuts a text at seams, into parts that can be encoded one after the other. Examines each place once.
#pragma once

#include <cstddef>
#include <vector>

#include "crayon/batch/text_view.h"
#include "crayon/engine/engine.h"
#include "crayon/support/id_buffer.h"
#include "engine/seams.h"

namespace crayon {

// Whether a place is a seam does not depend on text more than this many characters after it.
constexpr size_t kSeamAfter = Border::kAfter;

// Gives seams of a text in order. A seam also holds in every part of the text that has Seams::reach() more characters
// before the seam and kSeamAfter after it. A text of bytes must be UTF-8.
class PartCutter {
  public:
    PartCutter(const Seams& seams, const TextView& text, size_t from = 0)
        : seams_(seams), text_(text), from_(from), looked_(from) {}

    // The end of the next part: the last seam in the next `size` units (64 or more), or the first one after them, or
    // the text's end. No part ends near the text's end, except the part that ends there.
    size_t next(size_t size);
    size_t done() const { return from_; }
    bool is_done() const { return from_ == text_.size; }

  private:
    const Seams& seams_;
    const TextView text_;
    size_t from_, looked_;
    Utf8Reader reader_;
};

// Returns a seam of the kind that PartCutter gives, in the 16 Ki units before `to`, or 0 if none is found.
size_t seam_before(const Seams& seams, const TextView& text, size_t to);

// Encodes parts of texts as texts of their own.
class StretchEncoder {
  public:
    StretchEncoder(const Engine& engine, bool special_as_text);

    // Appends the ids of units [from, to). `continues`: the units begin at a seam.
    void encode(const TextView& text, size_t from, size_t to, bool continues, IdBuffer* out);
    size_t count(const TextView& text, size_t from, size_t to, bool continues);
    // The range of characters of each token, counted from `from`, before any post-processor.
    std::vector<Offset> spans(const TextView& text, size_t from, size_t to, bool continues);

  private:
    const Engine& engine_;
    const Engine::Lease lease_;
    EncodeOptions options_;
    Utf8Reader reader_;
    IdBuffer ids_;
};

}  // namespace crayon
