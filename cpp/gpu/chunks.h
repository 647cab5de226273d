// What each chunk of the text has: the classes of its characters, so that long runs are passed a chunk at a time; and
// how many numbers stand at its end, because some patterns cut these into groups of three from the start of a run. A
// document with what is not UTF-8, or with a character that the normalizer may change, is the CPU's.
#pragma once

#include "segments.h"

namespace crayon {
namespace gpu {

// A stretch of text, as a map from the numbers in a row that stand before it to those that stand at its end, modulo
// three. What is not a number, and the start of a segment, forgets those before.
struct Digits {
    static constexpr uint8_t kForgets = 4;

    CRAYON_DEVICE static uint8_t join(uint8_t first, uint8_t second) {
        if (second & kForgets) return second;
        return uint8_t((first & kForgets) | ((first & 3) + (second & 3)) % 3);
    }
};

// One thread to a chunk.
struct DescribeChunks {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.size / kChunk + 1 + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t chunk = block.index() * kThreads + lane, start = chunk * kChunk;
            if (start > w.size) return;
            const uint32_t stop = w.size - start < kChunk ? w.size : start + kChunk;
            uint32_t set = 0, digits = 0;
            for (uint32_t at = start; at < stop;) {
                const bool is_segment = has_bit(w.segments, at);
                if (is_segment) {
                    digits = Digits::kForgets;
                    if (at != start) set = 0xFF;
                }
                if (!begins_char(w, at)) {
                    ++at;
                    continue;
                }
                const Char c = read_char(Place{&w, at}, SegmentEnd{at});
                if (w.text[at] >= 0x80 && !is_plain(w, at)) give_to_host(w, at);
                set |= c.set;
                digits = c.set & kNumbers ? Digits::join(uint8_t(digits), 1) : Digits::kForgets;
                at += c.size;
            }
            w.chunk_sets[chunk] = uint8_t(set);
            w.digit_states[chunk] = uint8_t(digits);
        });
    }

  private:
    // Whether it is UTF-8, and nothing that the normalizer may change.
    CRAYON_DEVICE static bool is_plain(const Work& w, uint32_t at) {
        const Decoded c = decode_multibyte(Place{&w, at}, SegmentEnd{at});
        return c.valid && (w.tables.stable_chars == nullptr || has_bit(w.tables.stable_chars, c.code_point));
    }
};

// One block to kTile chunks: what they make together.
struct JoinDigits {
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kEach = kTile / kThreads;
    struct Shared {
        uint8_t parts[kThreads];
    };

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.size / kChunk + 1 + kTile - 1) / kTile; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        const uint32_t n = w.size / kChunk + 1;
        block.each([&](uint32_t lane) {
            uint8_t state = 0;
            for (uint32_t i = 0; i < kEach; ++i) {
                const uint32_t chunk = block.index() * kTile + lane * kEach + i;
                if (chunk < n) state = Digits::join(state, w.digit_states[chunk]);
            }
            shared.parts[lane] = state;
        });
        block.once([&] {
            uint8_t state = 0;
            for (const uint8_t part : shared.parts) state = Digits::join(state, part);
            w.digit_tiles[block.index()] = state;
        });
    }
};

// One block: what stands before each tile. Each lane has some tiles that stand together.
struct ScanDigitTiles {
    static constexpr uint32_t kThreads = 1024;
    struct Shared {
        uint8_t parts[kThreads];
    };

    CRAYON_DEVICE static uint32_t blocks(const Work&) { return 1; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        const uint32_t n = JoinDigits::blocks(w), each = (n + kThreads - 1) / kThreads;
        block.each([&](uint32_t lane) {
            uint8_t state = 0;
            for (uint32_t tile = lane * each; tile < n && tile < (lane + 1) * each; ++tile)
                state = Digits::join(state, w.digit_tiles[tile]);
            shared.parts[lane] = state;
        });
        block.once([&] {
            uint8_t state = Digits::kForgets;
            for (uint8_t& part : shared.parts) {
                const uint8_t own = part;
                part = state;
                state = Digits::join(state, own);
            }
        });
        block.each([&](uint32_t lane) {
            uint8_t state = shared.parts[lane];
            for (uint32_t tile = lane * each; tile < n && tile < (lane + 1) * each; ++tile) {
                const uint8_t own = w.digit_tiles[tile];
                w.digit_tiles[tile] = state;
                state = Digits::join(state, own);
            }
        });
    }
};

// One block to kTile chunks: what stands before each chunk.
struct SpreadDigits {
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kEach = kTile / kThreads;
    struct Shared {
        uint8_t parts[kThreads];
    };

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return JoinDigits::blocks(w); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        const uint32_t n = w.size / kChunk + 1;
        block.each([&](uint32_t lane) {
            uint8_t state = 0;
            for (uint32_t i = 0; i < kEach; ++i) {
                const uint32_t chunk = block.index() * kTile + lane * kEach + i;
                if (chunk < n) state = Digits::join(state, w.digit_states[chunk]);
            }
            shared.parts[lane] = state;
        });
        block.once([&] {
            uint8_t state = w.digit_tiles[block.index()];
            for (uint8_t& part : shared.parts) {
                const uint8_t own = part;
                part = state;
                state = Digits::join(state, own);
            }
        });
        block.each([&](uint32_t lane) {
            uint8_t state = shared.parts[lane];
            for (uint32_t i = 0; i < kEach; ++i) {
                const uint32_t chunk = block.index() * kTile + lane * kEach + i;
                if (chunk >= n) break;
                const uint8_t own = w.digit_states[chunk];
                w.digit_states[chunk] = state;
                state = Digits::join(state, own);
            }
        });
    }
};

}  // namespace gpu
}  // namespace crayon
