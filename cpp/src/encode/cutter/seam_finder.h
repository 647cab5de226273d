// Finds seams (seams.h) in a text of any unit size (TextView), to cut it into parts that are encoded one after the
// other.
#pragma once

#include <cstddef>

#include "crayon/texts/text_view.h"
#include "encode/cutter/seams.h"

namespace crayon {

// Whether a place is a seam does not depend on text more than this many characters after it.
constexpr size_t kSeamAfter = Border::kAfter;

// Places are in units of the text. `Seams` and the text's memory must outlive the finder. A seam also holds in every
// part of the text that has Seams::reach() more characters before the seam and kSeamAfter after it. Bytes need not be
// UTF-8: no seam is found near an invalid one.
class SeamFinder {
  public:
    SeamFinder(const Seams& seams, const TextView& text, size_t from = 0)
        : seams_(seams), text_(text), from_(from), looked_(from) {}

    // Returns the end of the next part, which has about `size` units (64 or more). It is the last seam in the last 16
    // Ki of these units, else the first seam after them, else the text's end. No part ends a little before that end.
    size_t next(size_t size);
    // The end of the last part, and whether the text ends there.
    size_t done() const { return from_; }
    bool is_done() const { return from_ == text_.size; }

    // Returns the last seam after `from` in the 16 Ki units before `to`, or `from` if none is found.
    size_t previous(size_t from, size_t to);

  private:
    size_t last_inside(size_t from, size_t to);

    const Seams& seams_;
    const TextView text_;
    size_t from_, looked_;  // next() has examined the places before looked_
    Utf8Reader reader_;
};

// Encodes parts of a text, each twice as large as the one before, until they have more than `most` ids. encode(from,
// to) returns the number of ids of a part. Returns whether a part of the text is left.
template <typename Encode>
bool encode_head(const Seams& seams, Bytes text, size_t first_part, size_t most, Encode&& encode) {
    SeamFinder parts(seams, text);
    size_t size = first_part;
    for (size_t n = 0; n <= most && !parts.is_done(); size *= 2) {
        const size_t from = parts.done();
        n += encode(from, parts.next(size));
    }
    return !parts.is_done();
}

}  // namespace crayon
