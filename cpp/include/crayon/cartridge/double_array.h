// A double-array trie over byte strings, in the layout of CRAYON's cartridges. (J. Aoe, "An Efficient Digital Search
// Algorithm by Using a Double-Array Structure", 1989.)
//
// The root is node 0, and base[0] == 1. Node c is the child of p by byte b if and only if c == base[p] + b and check[c]
// == p. In free slots and at the root, check is -1. values[c] is the value of the key that ends at node c, or -1.
//
// Example: the key "a" (0x61) with value 7 is node 98, because base[0] + 0x61 == 98: check[98] == 0, values[98] == 7.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/support/bytes.h"
#include "crayon/support/device_code.h"

namespace crayon {

struct DoubleArray {
    std::vector<int32_t> base, check, values;  // of equal length
};

// Sorts by the bytes of keys, then by value.
void sort_keys(std::vector<std::pair<std::string_view, int32_t>>* keys);

// Builds a trie. Keys must be sorted by bytes, unique and not empty, and values >= 0; Error(vocabulary) otherwise.
// Packs first-fit, parents with most children first.
DoubleArray build_double_array(const std::vector<std::pair<std::string_view, int32_t>>& keys);

// A trie used in place in a mapped file. Every step checks bounds, so unverified arrays cannot cause a read outside
// them.
struct DoubleArrayView {
    const int32_t* base = nullptr;
    const int32_t* check = nullptr;
    const int32_t* values = nullptr;
    uint32_t size = 0;

    // Returns the child of `node` by `byte`, or -1.
    CRAYON_DEVICE int32_t step(int32_t node, uint8_t byte) const {
        const int64_t next = int64_t(base[node]) + byte;
        if (next <= 0 || next >= size || check[next] != node) return -1;
        return int32_t(next);
    }
    // Returns the value of `key`, or -1.
    int32_t find(Bytes key) const {
        if (size == 0) return -1;
        int32_t node = 0;
        for (uint8_t b : key)
            if ((node = step(node, b)) < 0) return -1;
        return values[node];
    }
    // Returns the longest key that is a prefix of `text` as {length, value}, or {0, -1}. `steps` gets the number of
    // bytes walked.
    std::pair<size_t, int32_t> longest_match(Bytes text, size_t* steps) const {
        std::pair<size_t, int32_t> best{0, -1};
        size_t i = 0;
        for (int32_t node = size == 0 ? -1 : 0; i < text.size && node >= 0; ++i) {
            node = step(node, text[i]);
            if (node >= 0 && values[node] >= 0) best = {i + 1, values[node]};
        }
        *steps = i;
        return best;
    }
    std::pair<size_t, int32_t> longest_match(Bytes text) const {
        size_t steps;
        return longest_match(text, &steps);
    }
};

inline DoubleArrayView view_of(const DoubleArray& trie) {
    return {trie.base.data(), trie.check.data(), trie.values.data(), uint32_t(trie.base.size())};
}

// Checks all that a view relies on: equal lengths, base[0] == 1, every parent in range, values in [-1, value_limit).
// Every used node's chain of parents must reach the root, so no cycle exists. Error(cartridge) names the first fault.
void verify_double_array(const DoubleArrayView& trie, int64_t value_limit);

}  // namespace crayon
