// A borrowed range of bytes: C++17 lacks std::span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crayon {

struct Bytes {
    const uint8_t* data = nullptr;
    size_t size = 0;

    Bytes() = default;
    Bytes(const uint8_t* d, size_t n) : data(d), size(n) {}
    Bytes(std::string_view s) : data(reinterpret_cast<const uint8_t*>(s.data())), size(s.size()) {}
    Bytes(const std::string& s) : Bytes(std::string_view(s)) {}

    const uint8_t* begin() const { return data; }
    const uint8_t* end() const { return data + size; }
    bool empty() const { return size == 0; }
    uint8_t operator[](size_t i) const { return data[i]; }
    Bytes slice(size_t from, size_t to) const { return {data + from, to - from}; }
    std::string_view view() const { return {reinterpret_cast<const char*>(data), size}; }
};

// Bytes [start, end) of a text.
struct Piece {
    uint32_t start;
    uint32_t end;
};

// A typed borrowed array, for sections of a mapped cartridge.
template <typename T>
struct Array {
    const T* data = nullptr;
    size_t size = 0;

    const T& operator[](size_t i) const { return data[i]; }
    const T* begin() const { return data; }
    const T* end() const { return data + size; }
    bool empty() const { return size == 0; }
};

}  // namespace crayon
