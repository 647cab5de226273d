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
    // What the states [first, last) are together.
    CRAYON_DEVICE static uint8_t join_all(const uint8_t* states, uint32_t first, uint32_t last) {
        uint8_t state = 0;
        for (uint32_t i = first; i < last; ++i) state = join(state, states[i]);
        return state;
    }
    // Each of these becomes what stands before it, where `state` stands before the first.
    CRAYON_DEVICE static void scan(uint8_t* states, uint32_t first, uint32_t last, uint8_t state) {
        for (uint32_t i = first; i < last; ++i) {
            const uint8_t own = states[i];
            states[i] = state;
            state = join(state, own);
        }
    }
};

// Chunks of a text, the last of which may be empty.
CRAYON_DEVICE inline uint32_t chunks_of(const Work& w) {
    return w.size / kChunk + 1;
}
CRAYON_DEVICE inline uint32_t least_of(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

// One thread to a chunk.
struct DescribeChunks {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (chunks_of(w) + kThreads - 1) / kThreads; }
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
    static constexpr uint32_t kThreads = 256, kEach = kTile / kThreads;
    struct Shared {
        uint8_t parts[kThreads];
    };

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (chunks_of(w) + kTile - 1) / kTile; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        join_parts(block, w, shared.parts);
        block.once([&] { w.digit_tiles[block.index()] = Digits::join_all(shared.parts, 0, kThreads); });
    }

    // Each lane's part of the block's tile.
    CRAYON_DEVICE static uint32_t first_of(const Block<kThreads>& block, const Work& w, uint32_t lane) {
        return least_of(chunks_of(w), block.index() * kTile + lane * kEach);
    }
    CRAYON_DEVICE static void join_parts(const Block<kThreads>& block, const Work& w, uint8_t* parts) {
        block.each([&](uint32_t lane) {
            parts[lane] = Digits::join_all(w.digit_states, first_of(block, w, lane), first_of(block, w, lane + 1));
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
        const auto first_of = [&](uint32_t lane) { return least_of(n, lane * each); };
        block.each([&](uint32_t lane) {
            shared.parts[lane] = Digits::join_all(w.digit_tiles, first_of(lane), first_of(lane + 1));
        });
        block.once([&] { Digits::scan(shared.parts, 0, kThreads, Digits::kForgets); });
        block.each([&](uint32_t lane) {
            Digits::scan(w.digit_tiles, first_of(lane), first_of(lane + 1), shared.parts[lane]);
        });
    }
};

// One block to kTile chunks: what stands before each chunk.
struct SpreadDigits {
    static constexpr uint32_t kThreads = JoinDigits::kThreads;
    using Shared = JoinDigits::Shared;

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return JoinDigits::blocks(w); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        JoinDigits::join_parts(block, w, shared.parts);
        block.once([&] { Digits::scan(shared.parts, 0, kThreads, w.digit_tiles[block.index()]); });
        block.each([&](uint32_t lane) {
            Digits::scan(w.digit_states, JoinDigits::first_of(block, w, lane), JoinDigits::first_of(block, w, lane + 1),
                         shared.parts[lane]);
        });
    }
};

}  // namespace gpu
}  // namespace crayon
