// Scans a text in windows of 64 bytes (scan_masks.h); shared by all instruction sets.
//
// A window ends before the first invalid byte, and before a character that its end would cut. The next window begins at
// this window's last start. After a window with the starts 0, 2 and 58, for example, the next one begins at 58. Without
// a start, the rules of scan_rules.h scan one pretoken.
//
// An instruction set provides `kShortest` (fewer bytes do not pay for a window), `load`, `not_ascii`, `classify` (ASCII
// masks) and `classify_multibyte` (other characters). `store` writes the positions of bits. The unnamed namespace is
// explained in class_lookup.h.
#pragma once

#include <cstring>

#include "scan/scan_masks.h"

namespace crayon {
namespace {

// A window with fewer known bytes was hardly worth its cost: the rules then scan this many bytes.
constexpr uint32_t kHardly = 16;

// 64 readable bytes: at p if that many are left, else in `room`, padded with zeros.
inline const uint8_t* padded(const uint8_t* p, size_t left, uint8_t (&room)[kWindow]) {
    if (left >= kWindow) return p;
    std::memset(room, 0, kWindow);
    std::memcpy(room, p, left);
    return room;
}

// The result of one window at `pos`.
struct Found {
    uint64_t starts;  // Proven starts, relative to `pos`, without bit 0.
    uint32_t known;   // Number of bytes whose classes are known.
    uint32_t middle;  // Result of middle_of_word if the window has no start.
    bool whole;       // The text ends with the window, and so does its last pretoken.
};

template <typename Set, Family family>
inline Found scan_window(const uint8_t* p, size_t left) {
    const typename Set::Bytes bytes = Set::load(p, left);
    Masks masks;
    Set::template classify<family>(bytes, masks);
    const uint64_t not_ascii = Set::not_ascii(bytes);
    uint32_t size = left < kWindow ? static_cast<uint32_t>(left) : static_cast<uint32_t>(kWindow);
    Starts found;
    if (not_ascii == 0) {
        found = window_starts<family, false>(p, masks, size, left <= kWindow);
        masks.caseless = 0;
        masks.continuations = 0;
    } else {
        for (uint64_t* mask : {&masks.letters, &masks.upper, &masks.numbers, &masks.blanks, &masks.breaks,
                               &masks.spaces, &masks.quotes, &masks.slashes}) {
            *mask &= ~not_ascii;
        }
        size = Set::template classify_multibyte<family>(p, bytes, not_ascii, size, masks);
        if (size == 0) return {0, 0, 0, false};
        found = window_starts<family, true>(p, masks, size, size == left);
    }
    const uint64_t starts = found.bits & bits_below(found.limit + 1) & ~uint64_t{1};
    const uint32_t middle = starts == 0 && !found.whole ? middle_of_word<family>(masks, size, found.limit) : 0;
    return {starts, size, middle, found.whole};
}

// An upper limit of the room that `store` needs for `starts`, which it writes up to 16 at a time, and one more end.
inline size_t room_for(uint64_t starts) {
    starts -= starts >> 1 & 0x5555555555555555u;
    starts = (starts & 0x3333333333333333u) + (starts >> 2 & 0x3333333333333333u);
    starts = (starts + (starts >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    const size_t count = static_cast<size_t>(starts * 0x0101010101010101u >> 56);
    return (count | 15) + 2;
}

// A ScanFunction.
template <typename Set, Family family>
inline size_t scan_windows(const uint8_t* text, size_t size, size_t pos, size_t* ends, size_t capacity) {
    size_t count = 0;
    size_t resume = pos;  // no windows before this
    while (count < capacity && pos < size) {
        Found found{0, 0, 0, false};
        if (size - pos >= Set::kShortest && pos >= resume) {
            found = scan_window<Set, family>(text + pos, size - pos);
            if (found.starts == 0 && !found.whole) {
                if (found.middle >= kLong) {
                    pos += found.middle;
                    continue;
                }
                if (found.known < kHardly) resume = pos + kHardly;
            }
        }
        if (found.starts == 0) {
            pos = found.whole ? size : static_cast<size_t>(pretoken_end<family>(text + pos, text + size) - text);
            ends[count++] = pos;
            continue;
        }
        if (capacity - count >= kWindow || capacity - count >= room_for(found.starts)) {
            const uint32_t last = highest_bit(found.starts);
            count += Set::store(found.starts, pos, ends + count);
            pos += last;
            if (found.whole) {
                // `ends` has room, because bit 0 is not a start.
                ends[count++] = size;
                break;
            }
            continue;
        }
        do {
            ends[count++] = pos + lowest_bit(found.starts);
            found.starts &= found.starts - 1;
        } while (found.starts != 0 && count < capacity);
        pos = ends[count - 1];
    }
    return count;
}

template <typename Set>
inline ScanFunction scanner_of(Family family) {
    switch (family) {
        case Family::whole:
            break;
        case Family::gpt2:
            return scan_windows<Set, Family::gpt2>;
        case Family::cl100k:
            return scan_windows<Set, Family::cl100k>;
        case Family::llama3:
            return scan_windows<Set, Family::llama3>;
        case Family::qwen2:
            return scan_windows<Set, Family::qwen2>;
        case Family::o200k:
            return scan_windows<Set, Family::o200k>;
        case Family::tekken:
            return scan_windows<Set, Family::tekken>;
    }
    return nullptr;
}

}  // namespace
}  // namespace crayon
