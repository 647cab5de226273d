// Encodes parts of a text that seams divide (encode/cutter/seam_finder.h).
#pragma once

#include <cstddef>
#include <vector>

#include "crayon/engine/engine.h"
#include "crayon/support/id_buffer.h"
#include "crayon/texts/text_view.h"
#include "encode/cutter/seam_finder.h"

namespace crayon {

// Encodes parts of texts as texts of their own.
class PartEncoder {
  public:
    PartEncoder(const Engine& engine, bool special_as_text);

    // Appends the ids of units [from, to). `continues`: `from` is a seam.
    void encode(const TextView& text, size_t from, size_t to, bool continues, IdBuffer* out);
    size_t count(const TextView& text, size_t from, size_t to, bool continues);
    // The range of characters of each token, counted from `from`, before any post-processor.
    std::vector<Offset> ranges(const TextView& text, size_t from, size_t to, bool continues);

  private:
    const Engine& engine_;
    const Engine::Lease lease_;
    EncodeOptions options_;
    Utf8Reader reader_;
    IdBuffer ids_;
};

}  // namespace crayon
