#include "crayon/texts/text_view.h"

#include <cstring>

#include "crayon/simd/kernels.h"

namespace crayon {
namespace {

constexpr size_t kKept = size_t(1) << 20;  // in bytes; larger memory is freed when the next text is read

// Shorter texts are written without the instruction set's writer.
constexpr size_t kManyUnits = 96;

// Writes at most 4 bytes per unit (2 for width 1, 3 for width 2). Returns null for a surrogate or an invalid code
// point.
template <typename Unit>
uint8_t* write_by_units(const Unit* p, const Unit* end, uint8_t* to) {
    while (p < end) {
        if (end - p >= 8) {
            // Most text has long runs of ASCII; other text is not slower.
            Unit any = 0;
            for (int i = 0; i < 8; ++i) any = Unit(any | p[i]);
            if (any < 0x80) {
                for (int i = 0; i < 8; ++i) to[i] = uint8_t(p[i]);
                p += 8;
                to += 8;
                continue;
            }
        }
        const Unit* const stop = end - p >= 8 ? p + 8 : end;
        for (; p < stop; ++p) {
            const uint32_t c = *p;
            if (c < 0x80) {
                *to++ = uint8_t(c);
                continue;
            }
            if (sizeof(Unit) == 1 || c < 0x800) {
                *to++ = uint8_t(0xC0 | c >> 6);
            } else {
                if (sizeof(Unit) == 2 || c < 0x10000) {
                    if (c - 0xD800 < 0x800) return nullptr;
                    *to++ = uint8_t(0xE0 | c >> 12);
                } else {
                    if (c > 0x10FFFF) return nullptr;
                    *to++ = uint8_t(0xF0 | c >> 18);
                    *to++ = uint8_t(0x80 | (c >> 12 & 0x3F));
                }
                *to++ = uint8_t(0x80 | (c >> 6 & 0x3F));
            }
            *to++ = uint8_t(0x80 | (c & 0x3F));
        }
    }
    return to;
}

template <typename Unit>
uint8_t* write_all(const Unit* p, size_t n, Utf8Progress (*write)(const Unit*, size_t, uint8_t*), uint8_t* to) {
    Utf8Progress done{0, 0};
    if (write != nullptr) done = write(p, n, to);
    return write_by_units(p + done.read, p + n, to + done.written);
}

uint8_t* write_units(const TextView& text, size_t from, size_t to, const Utf8Writers& by, uint8_t* memory) {
    const size_t n = to - from;
    return text.width == 1   ? write_all(static_cast<const uint8_t*>(text.data) + from, n, by.latin1, memory)
           : text.width == 2 ? write_all(static_cast<const uint16_t*>(text.data) + from, n, by.ucs2, memory)
                             : write_all(static_cast<const uint32_t*>(text.data) + from, n, by.ucs4, memory);
}

template <typename Unit>
size_t count_utf8(const Unit* p, const Unit* end) {
    size_t n = size_t(end - p);
    for (; p < end; ++p) n += size_t(*p >= 0x80) + size_t(uint32_t(*p) >= 0x800) + size_t(uint32_t(*p) >= 0x10000);
    return n;
}

}  // namespace

size_t bytes_of(const std::vector<TextView>& texts) {
    size_t bytes = 0;
    for (const TextView& text : texts) bytes += text.bytes();
    return bytes;
}

size_t utf8_size(const TextView& text, size_t from, size_t to) {
    const auto count = [&](auto* units) { return count_utf8(units + from, units + to); };
    return text.width == 0   ? to - from
           : text.width == 1 ? count(static_cast<const uint8_t*>(text.data))
           : text.width == 2 ? count(static_cast<const uint16_t*>(text.data))
                             : count(static_cast<const uint32_t*>(text.data));
}

void write_utf8(const TextView& text, size_t from, size_t to, uint8_t* memory) {
    if (to == from) return;  // the memory may be null
    if (text.width == 0) {
        std::memcpy(memory, static_cast<const uint8_t*>(text.data) + from, to - from);
    } else {
        const Utf8Writers by = to - from < kManyUnits ? Utf8Writers() : selected_kernels().utf8_writers;
        if (write_units(text, from, to, by, memory) == nullptr) throw NotUnicode();
    }
}

Bytes Utf8Reader::read(const TextView& text, size_t from, size_t to) {
    if (text.width == 0) return {static_cast<const uint8_t*>(text.data) + from, to - from};
    const size_t most = (to - from) * (text.width == 4 ? 4 : text.width + 1);
    // The memory is not null even for an empty text, because null means an error.
    if (memory_ == nullptr || most > capacity_ || capacity_ > kKept) {
        capacity_ = most > 4096 ? most : 4096;
        memory_.reset();
        memory_.reset(new uint8_t[capacity_]);
    }
    const bool many = to - from >= kManyUnits;
    if (many && writers_ == nullptr) writers_ = &selected_kernels().utf8_writers;
    uint8_t* const end = write_units(text, from, to, many ? *writers_ : Utf8Writers(), memory_.get());
    if (end == nullptr) throw NotUnicode();
    return {memory_.get(), size_t(end - memory_.get())};
}

}  // namespace crayon
