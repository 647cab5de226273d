// Joins many short pieces into a block that stays in the cache, and moves full blocks to their destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "crayon/support/bytes.h"

namespace crayon {

class TextBlock {
  public:
    explicit TextBlock(std::string* out) : out_(out) {}

    void put(char c) {
        if (to_ >= block_ + kSize) flush();
        *to_++ = c;
    }
    // `readable` is the number of readable bytes from the piece's first one on. A short piece is copied together with
    // bytes after it.
    void put(Bytes piece, size_t readable) {
        if (piece.size <= kCopied && readable >= kCopied) {
            if (to_ > block_ + kSize - kCopied) flush();
            std::memcpy(to_, piece.data, kCopied);
            to_ += piece.size;
        } else {
            put_long(piece);
        }
    }
    void put(Bytes piece) { put(piece, piece.size); }
    // A caller may write pieces of up to 16 bytes itself, by copying 16 bytes of each. It writes one piece after the
    // other from place() on, while the position is at most last_place(). Then it calls written() with the end.
    static constexpr size_t kCopied = 16;
    char* place() { return to_; }
    const char* last_place() const { return block_ + kSize - kCopied; }
    void written(char* to) { to_ = to; }
    void flush() {
        const size_t size = size_t(to_ - block_);
        uint8_t any = 0;
        for (size_t i = 0; i < size; ++i) any = uint8_t(any | uint8_t(block_[i]));
        is_ascii_ &= any < 0x80;
        out_->append(block_, size);
        to_ = block_;
    }
    // Whether all flushed text is ASCII.
    bool is_ascii() const { return is_ascii_; }

  private:
    static constexpr size_t kSize = 4096;

    void put_long(Bytes piece) {
        while (!piece.empty()) {
            if (to_ == block_ + kSize) flush();
            const size_t room = size_t(block_ + kSize - to_), size = piece.size < room ? piece.size : room;
            std::memcpy(to_, piece.data, size);
            to_ += size;
            piece = piece.slice(size, piece.size);
        }
    }

    std::string* out_;
    char* to_ = block_;
    bool is_ascii_ = true;
    char block_[kSize + kCopied];
};

}  // namespace crayon
