// Texts in their owner's encoding, and their conversion to UTF-8, a part at a time into reused memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "crayon/support/bytes.h"

namespace crayon {

struct Utf8Writers;

struct TextView {
    const void* data = nullptr;
    size_t size = 0;    // in units
    uint8_t width = 0;  // Bytes per unit. 1, 2 and 4: one code point per unit (no surrogate pairs). 0: UTF-8.

    TextView() = default;
    TextView(const void* units, size_t n, uint8_t bytes_per_unit) : data(units), size(n), width(bytes_per_unit) {}
    TextView(Bytes utf8) : data(utf8.data), size(utf8.size) {}
    size_t bytes() const { return size * (width == 0 ? 1 : width); }
};

size_t bytes_of(const std::vector<TextView>& texts);

// Thrown for a text with a code point that UTF-8 cannot encode. The caller has to find this code point.
struct NotUnicode {};

// utf8_size returns the size of units [from, to) in UTF-8. write_utf8 writes these units to `memory`, and no byte past
// that size, or throws NotUnicode.
size_t utf8_size(const TextView& text, size_t from, size_t to);
void write_utf8(const TextView& text, size_t from, size_t to, uint8_t* memory);

class Utf8Reader {
  public:
    // Returns units [from, to) as UTF-8: a view of the text, or of memory that the next call reuses. Throws NotUnicode.
    Bytes read(const TextView& text, size_t from, size_t to);

  private:
    std::unique_ptr<uint8_t[]> memory_;
    size_t capacity_ = 0;
    const Utf8Writers* writers_ = nullptr;  // chosen at the first text that is not small
};

}  // namespace crayon
