// A text in parts that can be encoded one after the other. It is cut at seams; each place is looked at once.
#pragma once

#include <cstddef>
#include <vector>

#include "crayon/batch/text_view.h"
#include "crayon/engine/engine.h"
#include "crayon/support/id_buffer.h"
#include "engine/seams.h"

namespace crayon {

// What is nearer to the end of a text than so many characters can matter to whether a place is a seam.
constexpr size_t kSeamAfter = Border::kAfter;

// Gives seams of a text in order. They hold in every stretch of it that has Seams::reach() more before them and
// kSeamAfter characters behind. A text of bytes must be UTF-8.
class PartCutter {
  public:
    PartCutter(const Seams& seams, const TextView& text, size_t from = 0)
        : seams_(seams), text_(text), from_(from), looked_(from) {}

    // The end of the next part: the last seam in the next `size` units (64 or more), or the first one behind them, or
    // the text's end, which no part is near to.
    size_t next(size_t size);
    size_t done() const { return from_; }
    bool is_done() const { return from_ == text_.size; }

  private:
    const Seams& seams_;
    const TextView text_;
    size_t from_, looked_;
    Utf8Reader reader_;
};

// A seam of that kind in the 16 Ki units before `to`, or 0.
size_t seam_before(const Seams& seams, const TextView& text, size_t to);

// Encodes stretches of texts, with nothing around them.
class StretchEncoder {
  public:
    StretchEncoder(const Engine& engine, bool special_as_text);

    // Appends the ids of units [from, to). A stretch that `continues` begins at a seam.
    void encode(const TextView& text, size_t from, size_t to, bool continues, IdBuffer* out);
    size_t count(const TextView& text, size_t from, size_t to, bool continues);
    // The characters that each token stands for, counted from `from`, before any post-processor.
    std::vector<Offset> spans(const TextView& text, size_t from, size_t to, bool continues);

  private:
    const Engine& engine_;
    const Engine::Lease lease_;
    EncodeOptions options_;
    Utf8Reader reader_;
    IdBuffer ids_;
};

}  // namespace crayon
