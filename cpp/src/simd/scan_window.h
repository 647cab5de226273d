// Scans a text in windows of 64 bytes (scan_masks.h); shared by all instruction sets.
//
// A window ends before the first invalid byte, and before a character that its end would cut. The next window begins at
// this window's last start. After a window with the starts 0, 2 and 58, for example, the next one begins at 58. Without
// a start, the rules of scan_rules.h scan one pretoken.
//
// `V` is a vector (window.h). Its `kShortest` is the size of text from which a window pays, and its `store_places`
// writes the places of bits. The unnamed namespace is explained in class_lookup.h.
#pragma once

#include "crayon/simd/kernels.h"
#include "simd/scan_multibyte.h"

namespace crayon {
namespace {

// After a window with fewer known bytes than this, the rules of scan_rules.h scan this many bytes, because such windows
// hardly pay.
constexpr uint32_t kHardly = 16;

// The masks of ASCII bytes. Gives undefined bits for others.
template <Family family, typename V>
inline void classify(const Window<V>& bytes, Masks& m) {
    constexpr Rules rules = rules_of(family);
    m.letters = bytes.where([](V v) { return (v | V::all(0x20)).in_range('a', 'z'); });
    m.numbers = bytes.in_range('0', '9');
    m.blanks = bytes.equal(' ');
    m.spaces = m.blanks | bytes.in_range(9, 13);
    m.quotes = rules.contractions != Contractions::none ? bytes.equal('\'') : 0;
    m.upper = rules.words == Words::cased ? bytes.in_range('A', 'Z') : 0;
    m.breaks = rules.breaks ? bytes.where([](V v) { return v.equal('\n') | v.equal('\r'); }) : 0;
    m.slashes = rules.slashes ? bytes.equal('/') : 0;
}

// The result of one window at `pos`.
struct Found {
    uint64_t starts;  // Proven starts, relative to `pos`, without bit 0.
    uint32_t known;   // Number of bytes whose classes are known.
    uint32_t middle;  // Result of middle_of_word if the window has no start.
    bool whole;       // The text ends with the window, and so does its last pretoken.
};

template <typename V, Family family>
inline Found scan_window(const uint8_t* p, size_t left) {
    const auto bytes = Window<V>::load(p, left);
    Masks masks;
    classify<family>(bytes, masks);
    const uint64_t not_ascii = bytes.not_ascii();
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
        if constexpr (V::kSize < 16)
            size = classify_chars<family>(p, not_ascii, size, masks);
        else
            size = classify_blocks<family>(p, bytes, not_ascii, size, masks);
        if (size == 0) return {0, 0, 0, false};
        found = window_starts<family, true>(p, masks, size, size == left);
    }
    const uint64_t starts = found.bits & bits_below(found.limit + 1) & ~uint64_t{1};
    const uint32_t middle = starts == 0 && !found.whole ? middle_of_word<family>(masks, size, found.limit) : 0;
    return {starts, size, middle, found.whole};
}

// An upper limit of the room that `store_places` needs for `starts`, which it writes up to 16 at a time, and one more
// end.
inline size_t room_for(uint64_t starts) {
    starts -= starts >> 1 & 0x5555555555555555u;
    starts = (starts & 0x3333333333333333u) + (starts >> 2 & 0x3333333333333333u);
    starts = (starts + (starts >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    const size_t count = static_cast<size_t>(starts * 0x0101010101010101u >> 56);
    return (count | 15) + 2;
}

// A ScanFunction.
template <typename V, Family family>
inline size_t scan_windows(const uint8_t* text, size_t size, size_t pos, size_t* ends, size_t capacity) {
    size_t count = 0;
    size_t resume = pos;  // no windows before this
    while (count < capacity && pos < size) {
        Found found{0, 0, 0, false};
        if (size - pos >= V::kShortest && pos >= resume) {
            found = scan_window<V, family>(text + pos, size - pos);
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
            count += V::store_places(found.starts, pos, ends + count);
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

// The ScanFunction of Family::whole: the rest of the text is one pretoken.
inline size_t scan_whole(const uint8_t*, size_t size, size_t pos, size_t* ends, size_t capacity) {
    if (pos >= size || capacity == 0) return 0;
    ends[0] = size;
    return 1;
}

template <typename V>
constexpr Scanners scanners_of() {
    return {scan_whole,
            scan_windows<V, Family::gpt2>,
            scan_windows<V, Family::cl100k>,
            scan_windows<V, Family::llama3>,
            scan_windows<V, Family::qwen2>,
            scan_windows<V, Family::o200k>,
            scan_windows<V, Family::tekken>};
}

}  // namespace
}  // namespace crayon
