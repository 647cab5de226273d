#include "crayon/models/longest_match.h"

namespace crayon {
namespace {

constexpr size_t kBlock = 4096;  // ids to reserve room for at once

}  // namespace

LongestMatch::LongestMatch(const DoubleArrayView& trie, const std::vector<uint32_t>& never) : trie_(trie) {
    for (const uint32_t value : never) {
        if (never_.size() <= value >> 6) never_.resize((value >> 6) + 1);
        never_[value >> 6] |= uint64_t(1) << (value & 63);
    }
}

std::pair<size_t, int32_t> LongestMatch::at(Bytes text) const {
    std::pair<size_t, int32_t> best{0, -1};
    int32_t node = trie_.size > 0 ? 0 : -1;
    for (size_t i = 0; i < text.size && node >= 0;) {
        node = trie_.step(node, text[i++]);
        if (node >= 0 && trie_.values[node] >= 0 && !is_never(trie_.values[node])) best = {i, trie_.values[node]};
    }
    return best;
}

// Has the code of DoubleArrayView::step inline. A step waits for the load of `base`, then for the load of `check`. All
// other loads overlap with these.
template <bool kFiltered>
size_t LongestMatch::cut_all(Bytes text, IdBuffer* out) const {
    const int32_t* const base = trie_.base;
    const int32_t* const check = trie_.check;
    const int32_t* const values = trie_.values;
    const uint32_t root = uint32_t(base[0]), last = trie_.size - 1;
    const uint8_t* const end = text.end();
    const uint8_t* p = text.begin();
    while (p < end) {
        out->reserve_more(kBlock);
        int32_t* const first = out->end();
        int32_t* to = first;
        for (; p < end && to < first + kBlock; ++to) {
            int32_t id = -1;
            const uint8_t* match = p;
            // A slot below 1 wraps around, so that one comparison is enough.
            uint32_t node = root + *p;
            if (node - 1 < last && check[node] == 0) {
                const uint8_t* q = p + 1;
                for (;;) {
                    const int32_t value = values[node];
                    id = value >= 0 ? value : id;
                    match = value >= 0 ? q : match;
                    if (q == end) break;
                    const uint32_t next = uint32_t(base[node]) + *q;
                    if (next - 1 >= last || uint32_t(check[next]) != node) break;
                    node = next;
                    ++q;
                }
            }
            if (kFiltered && id >= 0 && is_never(id)) {
                const auto shorter = at({p, size_t(end - p)});
                match = p + shorter.first;
                id = shorter.second;
            }
            if (id < 0) {
                out->advance(size_t(to - first));
                return size_t(p - text.begin());
            }
            *to = id;
            p = match;
        }
        out->advance(size_t(to - first));
    }
    return text.size;
}

size_t LongestMatch::cut(Bytes text, IdBuffer* out) const {
    if (trie_.size == 0) return 0;
    return never_.empty() ? cut_all<false>(text, out) : cut_all<true>(text, out);
}

}  // namespace crayon
