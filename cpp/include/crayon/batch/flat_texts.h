// Texts one behind the other in one piece of memory, as a device takes them.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/batch/text_view.h"

namespace crayon {

// Makes UTF-8 of texts, by threads, and of long ones by parts: so first where each part goes, then its bytes.
class FlatTextWriter {
  public:
    // Text that is UTF-8 already is not looked at. `threads` as in batch.h.
    FlatTextWriter(const std::vector<TextView>& texts, size_t threads);

    // Where each text begins, and the end: one more than texts.
    const std::vector<uint64_t>& offsets() const { return offsets_; }
    size_t size() const { return size_t(offsets_.back()); }
    // Writes size() bytes. Throws NotUnicode.
    void write(uint8_t* to) const;

  private:
    struct Part {
        size_t text, from, to;  // units
        uint64_t at;
    };
    template <typename Work>
    void for_each_part(Work&& work) const;

    const std::vector<TextView>& texts_;
    const size_t threads_;
    std::vector<Part> parts_;
    std::vector<size_t> groups_;  // of parts: where each begins, and the end
    std::vector<uint64_t> offsets_;
};

// Offsets as arrays have them, as texts of `size` bytes need them. Error(argument) names the first that is less than
// the one before it, or beyond the bytes.
std::vector<uint64_t> checked_offsets(const int64_t* offsets, size_t n, size_t size);

}  // namespace crayon
