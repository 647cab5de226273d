// Greedy mode: cuts a text into the longest matching tokens. No match crosses a stop (the start of a pretoken).
//
// The start of a match depends on all matches before it, but its size depends only on its start. A tile of text is
// therefore a map: from each place where matching may enter the tile to the place after the tile where matching leaves
// it. Doubling finds this map for all places at once. Maps of neighbouring tiles are composed to maps of groups. These
// give the place where each group is entered, then where each tile is entered, and then the tokens of a tile.
//
// Example: tokens a, b, c, ab, ca, the text "abcabc", and tiles of 3 bytes. Matches in the first tile end at 2, 2, 4.
// So matching leaves the first tile at 4, wherever it enters. It enters the second tile at 4, and the tokens are ab,
// ca, b, c.
#pragma once

#include "parts.h"

namespace crayon {
namespace gpu {

constexpr uint32_t kMatchTile = 4096;     // bytes
constexpr uint32_t kMatchGroup = 256;     // tiles
constexpr uint32_t kLongestToken = 1024;  // in bytes; a tile is left at most this far after its end
static_assert(kLongestToken < kMatchTile, "a token that enters a tile ends in it or the next");

struct LongestMatchAt {
    uint32_t size;
    int32_t id;
};
// Returns the longest token at `at` that ends before the next stop, or a byte's token if none does. The result has the
// form of LongestMatch::at.
CRAYON_DEVICE inline LongestMatchAt longest_match_at(const Work& w, uint32_t at, const uint32_t* stops) {
    const Tables& t = w.tables;
    LongestMatchAt best{1, int32_t(t.byte_ids[w.text[at]])};
    int32_t node = 0;
    for (uint32_t i = at; t.trie.size > 0 && i < w.size && (i == at || stops == nullptr || !has_bit(stops, i)); ++i) {
        node = t.trie.step(node, w.text[i]);
        if (node < 0) break;
        const int32_t id = t.trie.values[node];
        if (id < 0) continue;
        const bool is_never = uint32_t(id) / 32 < t.never_words && has_bit(t.never, uint32_t(id));
        if (!is_never) best = {i + 1 - at, id};
    }
    return best;
}

// Finds the size of each match and the map of each tile. One block per tile.
struct MatchTiles {
    static constexpr uint32_t kThreads = 256, kEach = kMatchTile / kThreads;
    struct Shared {
        uint16_t ends[kMatchTile];  // per place: where the matches from there end, as far as known, counted from the
                                    // tile's start
    };

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return (w.size + kMatchTile - 1) / kMatchTile; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        const uint32_t first = block.index() * kMatchTile;
        block.each([&](uint32_t lane) {
            for (uint32_t i = lane; i < kMatchTile; i += kThreads) {
                const uint32_t size = first + i < w.size ? longest_match_at(w, first + i, w.boundaries).size : 1;
                if (first + i < w.size) w.match_sizes[first + i] = uint16_t(size);
                shared.ends[i] = uint16_t(i + size);
            }
        });
        // Each lane follows matches to the end of its own part.
        block.each([&](uint32_t lane) {
            const uint32_t start = lane * kEach, stop = start + kEach;
            for (uint32_t i = stop; i-- > start;)
                if (shared.ends[i] < stop) shared.ends[i] = shared.ends[shared.ends[i]];
        });
        // Joins pairs of adjacent parts: where matches leave the first part, they continue in the second, whose map is
        // complete.
        for (uint32_t size = 2 * kEach; size <= kMatchTile; size *= 2) {
            block.each([&](uint32_t lane) {
                for (uint32_t i = lane; i < kMatchTile; i += kThreads) {
                    const uint32_t stop = (i / size + 1) * size;
                    if (i < stop - size / 2 && shared.ends[i] < stop) shared.ends[i] = shared.ends[shared.ends[i]];
                }
            });
        }
        block.each([&](uint32_t lane) {
            for (uint32_t i = lane; i < kLongestToken; i += kThreads)
                w.tile_exits[size_t(block.index()) * kLongestToken + i] = uint16_t(shared.ends[i] - kMatchTile);
        });
    }
};

// Finds the map of each group of tiles. One block per group.
struct JoinMatchTiles {
    static constexpr uint32_t kThreads = 256, kEach = kLongestToken / kThreads;
    struct Shared {
        uint16_t exits[2][kLongestToken];
    };

    CRAYON_DEVICE static uint32_t blocks(const Work& w) {
        return (MatchTiles::blocks(w) + kMatchGroup - 1) / kMatchGroup;
    }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        const uint32_t first = block.index() * kMatchGroup, n = MatchTiles::blocks(w);
        const uint32_t last = n - first < kMatchGroup ? n : first + kMatchGroup;
        block.each([&](uint32_t lane) {
            for (uint32_t i = lane; i < kLongestToken; i += kThreads) shared.exits[0][i] = uint16_t(i);
        });
        uint32_t from = 0;
        for (uint32_t tile = last; tile-- > first; from = 1 - from) {
            block.each([&](uint32_t lane) {
                for (uint32_t i = lane; i < kLongestToken; i += kThreads)
                    shared.exits[1 - from][i] = shared.exits[from][w.tile_exits[size_t(tile) * kLongestToken + i]];
            });
        }
        block.each([&](uint32_t lane) {
            for (uint32_t i = lane; i < kLongestToken; i += kThreads)
                w.group_exits[size_t(block.index()) * kLongestToken + i] = shared.exits[from][i];
        });
    }
};

// Finds where each group is entered. One block, one lane.
struct EnterMatchGroups {
    static constexpr uint32_t kThreads = 32;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work&) { return 1; }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.once([&] {
            uint16_t at = 0;
            for (uint32_t group = 0; group < JoinMatchTiles::blocks(w); ++group) {
                w.group_entries[group] = at;
                at = w.group_exits[size_t(group) * kLongestToken + at];
            }
        });
    }
};

// Finds where each tile is entered. One lane per group.
struct EnterMatchTiles {
    static constexpr uint32_t kThreads = 32;
    struct Shared {};

    CRAYON_DEVICE static uint32_t blocks(const Work& w) {
        return (JoinMatchTiles::blocks(w) + kThreads - 1) / kThreads;
    }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared&) {
        block.each([&](uint32_t lane) {
            const uint32_t group = block.index() * kThreads + lane, n = MatchTiles::blocks(w);
            if (group >= JoinMatchTiles::blocks(w)) return;
            uint16_t at = w.group_entries[group];
            for (uint32_t tile = group * kMatchGroup; tile < n && tile < (group + 1) * kMatchGroup; ++tile) {
                w.tile_entries[tile] = at;
                at = w.tile_exits[size_t(tile) * kLongestToken + at];
            }
        });
    }
};

// Marks the start of each token as a pretoken's start. One block per tile; one lane follows the tokens in shared
// memory.
struct MarkMatches {
    static constexpr uint32_t kThreads = 128;
    struct Shared {
        uint16_t sizes[kMatchTile];
        uint32_t bits[kMatchTile / 32];
    };

    CRAYON_DEVICE static uint32_t blocks(const Work& w) { return MatchTiles::blocks(w); }
    CRAYON_DEVICE static void run(const Block<kThreads>& block, const Work& w, Shared& shared) {
        const uint32_t first = block.index() * kMatchTile;
        const uint32_t n = w.size - first < kMatchTile ? w.size - first : kMatchTile;
        block.each([&](uint32_t lane) {
            for (uint32_t i = lane; i < n; i += kThreads) shared.sizes[i] = w.match_sizes[first + i];
            for (uint32_t i = lane; i < kMatchTile / 32; i += kThreads) shared.bits[i] = 0;
        });
        block.once([&] {
            for (uint32_t at = w.tile_entries[block.index()]; at < n; at += shared.sizes[at])
                shared.bits[at / 32] |= uint32_t(1) << (at % 32);
        });
        block.each([&](uint32_t lane) {
            for (uint32_t i = lane; i * 32 < n; i += kThreads) w.boundaries[first / 32 + i] |= shared.bits[i];
        });
    }
};

}  // namespace gpu
}  // namespace crayon
