// Texts as their holder has them, and their way to UTF-8: a piece at a time, into memory that is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "crayon/support/bytes.h"

namespace crayon {

struct Utf8Writers;

struct TextView {
    const void* data = nullptr;
    size_t size = 0;    // in units
    uint8_t width = 0;  // of a unit: 1, 2, 4 are bytes of one code point (no pairs of surrogates); 0 is a byte of UTF-8

    size_t bytes() const { return size * (width == 0 ? 1 : width); }
};

// Thrown for a text with a code point that UTF-8 cannot have: which one, its holder finds out.
struct NotUnicode {};

// Units [from, to) as UTF-8: the number of bytes; and the bytes written to memory, where nothing behind them is
// touched. The second throws NotUnicode.
size_t utf8_size(const TextView& text, size_t from, size_t to);
void write_utf8(const TextView& text, size_t from, size_t to, uint8_t* memory);

class Utf8Reader {
  public:
    // Units [from, to) as UTF-8: those of the view, or memory that lives until the next call. Throws NotUnicode.
    Bytes read(const TextView& text, size_t from, size_t to);

  private:
    std::unique_ptr<uint8_t[]> memory_;
    size_t capacity_ = 0;
    const Utf8Writers* writers_ = nullptr;  // found with the first text that is not small
};

}  // namespace crayon
