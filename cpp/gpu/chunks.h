// Describes each chunk of the text: its bit planes, the classes of its characters, and the number of digits at its end.
// The classes let later kernels skip long runs chunk by chunk. The digits are needed by patterns that cut a run into
// groups of three. A document with invalid UTF-8, or with a character that the normalizer may change, is left to the
// CPU.
#pragma once

#include "planes.h"

namespace crayon {
namespace gpu {

// A state describes a range of text: it maps the number of digits before the range to the number of digits at the
// range's end, both modulo 3. A character that is not a digit, or the start of a part, forgets the digits before it. As
// a byte:
//    _____1__ forgets the digits before the range
//    ______nn digits at the end of the range, modulo 3
// Example: "ab12" is 110 (forgets, 2 digits). "3456" is 001. Joined they are 100: 6 digits in a row, modulo 3.
struct Digits {
    static constexpr uint8_t kForgets = 4;

    CRAYON_DEVICE static uint8_t join(uint8_t first, uint8_t second) {
        if (second & kForgets) return second;
        return uint8_t((first & kForgets) | ((first & 3) + (second & 3)) % 3);
    }
    // Joins the states [first, last).
    CRAYON_DEVICE static uint8_t join_all(const uint8_t* states, uint32_t first, uint32_t last) {
        uint8_t state = 0;
        for (uint32_t i = first; i < last; ++i) state = join(state, states[i]);
        return state;
    }
    // Replaces each state by the digits before its range. `state` is the number of digits before the first range.
    CRAYON_DEVICE static void scan(uint8_t* states, uint32_t first, uint32_t last, uint8_t state) {
        for (uint32_t i = first; i < last; ++i) {
            const uint8_t own = states[i];
            states[i] = state;
            state = join(state, own);
        }
    }
};

CRAYON_DEVICE inline uint32_t least_of(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

// One thread per chunk.
struct DescribeChunks {
    static constexpr uint32_t kThreads = 256;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (chunks_of(w) + kThreads - 1) / kThreads; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t chunk = block.index() * kThreads + lane, start = chunk * kChunk;
            if (start > w.size) return;
            uint64_t others;
            Planes p = ascii_planes(w, chunk, &others);
            if (others != 0) add_others(w, start, others, &p);
            w.planes[chunk] = p;
            const uint64_t parts = word_of(w.parts, chunk);
            const uint64_t firsts = ~p.continuations & bits_below(least_of(w.size - start, kChunk));
            w.chunk_sets[chunk] = (parts & ~uint64_t(1)) != 0 ? 0xFF : set_of_chunk(p, firsts);
            w.digit_states[chunk] = digits_of(of_class(p, CharClass::number), firsts, parts);
        });
    }

  private:
    // Adds the classes of non-ASCII characters to the planes `p`. `left` has their bytes. The first bytes may belong to
    // a character that began in the previous chunk.
    CRAYON_DEVICE static void add_others(const Work& w, uint32_t start, uint64_t left, Planes* p) {
        if ((left & 1) != 0 && !begins_char(w, start)) {
            const uint32_t from = lead_before(w, start);
            const ClassifiedChar c = read_char(TextCursor{&w, from}, PartEnd{from});
            const uint64_t own = bits_below(from + c.size - start);
            add(p, c.set, own, own);
            left &= ~own;
        }
        while (left != 0) {
            const uint32_t i = lowest_bit(left), at = start + i;
            const TextCursor place{&w, at};
            const Decoded c = decode_multibyte(place, PartEnd{at});
            // Invalid UTF-8, or a character that the normalizer may change, leaves the document to the CPU.
            const uint32_t* const stable = w.tables.stable_chars;
            if (!c.valid || (stable != nullptr && !has_bit(stable, c.code_point))) give_to_host(w, at);
            const uint64_t own = bits_below(least_of(i + c.size, kChunk)) & ~bits_below(i);
            if (c.valid) add(p, 1u << (class_entry_at(place, c.code_point) & kClassMask), own, own & ~bit(i));
            left &= ~own;
        }
    }
    CRAYON_DEVICE static void add(Planes* p, uint32_t set, uint64_t bytes, uint64_t continuations) {
        const uint32_t number = highest_one(set);
        for (uint32_t k = 0; k < 3; ++k) p->classes[k] |= number >> k & 1 ? bytes : 0;
        p->continuations |= continuations;
    }

    CRAYON_DEVICE static uint8_t set_of_chunk(const Planes& p, uint64_t firsts) {
        uint32_t set = 0;
        for (uint32_t c = 0; c < 8; ++c) set |= uint32_t((of_class(p, CharClass(c)) & firsts) != 0) << c;
        return uint8_t(set);
    }

    // Returns a chunk's state. Counts the digits after the last character that is not a digit, or after the last start
    // of a part.
    CRAYON_DEVICE static uint8_t digits_of(uint64_t numbers, uint64_t firsts, uint64_t parts) {
        const uint64_t others = firsts & ~numbers;
        uint64_t counted = numbers & firsts;
        if (others != 0) counted &= ~bits_below(highest_bit(others) + 1);
        if (parts != 0) counted &= ~bits_below(highest_bit(parts));
        const uint32_t count = count_bits(uint32_t(counted)) + count_bits(uint32_t(counted >> 32));
        return uint8_t(((others | parts) != 0 ? Digits::kForgets : 0) | count % 3);
    }
};

// Joins the sets of classes of kTile chunks (a tile), and adds kHasPartStart if a part begins in the tile. One block
// per tile.
struct JoinSets {
    static constexpr uint32_t kThreads = 256, kEach = kTile / kThreads, kHasPartStart = 0x100;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (chunks_of(w) + kTile - 1) / kTile; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t first = block.index() * kTile + lane * kEach;
            uint32_t set = 0;
            for (uint32_t chunk = first; chunk < least_of(first + kEach, chunks_of(w)); ++chunk) {
                set |= w.chunk_sets[chunk];
                // A start inside a chunk is already in the chunk's set.
                if (chunk % kTile != 0 && has_bit(w.parts, chunk * kChunk)) set |= kHasPartStart;
            }
            if (set != 0) atomic_or(w.tile_sets + block.index(), set);
        });
    }
};

// Joins the Digits states of kTile chunks (a tile). One block per tile.
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

    // The first chunk of each lane's part of the tile.
    CRAYON_DEVICE static uint32_t first_of(const Block<kThreads>& block, const Work& w, uint32_t lane) {
        return least_of(chunks_of(w), block.index() * kTile + lane * kEach);
    }
    CRAYON_DEVICE static void join_parts(const Block<kThreads>& block, const Work& w, uint8_t* parts) {
        block.each([&](uint32_t lane) {
            parts[lane] = Digits::join_all(w.digit_states, first_of(block, w, lane), first_of(block, w, lane + 1));
        });
    }
};

// Computes the digits before each tile. One block; each lane has some consecutive tiles.
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

// Computes the digits before each chunk. One block per kTile chunks.
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
