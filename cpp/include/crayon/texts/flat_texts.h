// Concatenates texts in one block of memory, because a device takes a batch in this form.
#pragma once

#include <cstdint>
#include <vector>

#include "crayon/texts/text_view.h"

namespace crayon {

// Converts texts to UTF-8 in threads, long ones in parts. The constructor computes offsets, write() writes the bytes.
class FlatTextWriter {
  public:
    // Texts that are already UTF-8 are not read here. `threads` as in batch.h.
    FlatTextWriter(const std::vector<TextView>& texts, size_t threads);

    // The start of each text in the concatenated UTF-8, and the total size: one more value than texts.
    const std::vector<uint64_t>& offsets() const { return offsets_; }
    size_t size() const { return size_t(offsets_.back()); }
    // Writes size() bytes. Throws NotUnicode.
    void write(uint8_t* to) const;

  private:
    struct TextPart {
        size_t text, from, to;  // units [from, to) of a text
        uint64_t at;
    };
    template <typename Work>
    void for_each_part(Work&& work) const;

    const std::vector<TextView>& texts_;
    const size_t threads_;
    std::vector<TextPart> parts_;
    std::vector<size_t> groups_;  // indices into parts_: the start of each group, and the end
    std::vector<uint64_t> offsets_;
};

// Returns a copy of `n` offsets into `size` bytes of text, and checks them. Error(argument) names the first offset that
// is smaller than its predecessor or larger than `size`.
std::vector<uint64_t> checked_offsets(const int64_t* offsets, size_t n, size_t size);

}  // namespace crayon
