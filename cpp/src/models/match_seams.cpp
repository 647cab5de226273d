#include "models/match_seams.h"

#include <algorithm>

namespace crayon {

MatchSeams::MatchSeams(const DoubleArrayView& trie, const Kernels& kernels) : scan_(kernels.scanners.of(Family::gpt2)) {
    for (auto& row : seams_) std::fill(std::begin(row), std::end(row), ~uint64_t(0));
    // The byte that leads to a node is its distance from its parent's base.
    const auto byte_of = [&](uint32_t node) { return uint32_t(node - uint32_t(trie.base[trie.check[node]])); };
    const auto has_parent = [&](uint32_t node) { return node != 0 && uint32_t(trie.check[node]) < trie.size; };
    for (uint32_t node = 1; node < trie.size; ++node) {
        if (!has_parent(node) || !has_parent(uint32_t(trie.check[node]))) continue;
        const uint32_t before = byte_of(uint32_t(trie.check[node])), after = byte_of(node);
        if (before < 256 && after < 256) seams_[before][after >> 6] &= ~(uint64_t(1) << (after & 63));
    }
    for (uint8_t letter = 'a'; letter <= 'z'; ++letter) exist_ |= is_seam(letter, ' ');
}

bool MatchSeams::divide(const Border& border) const {
    const uint32_t before = border.before[0], after = border.after[0];
    if (before == kUnknownChar || after == kUnknownChar) return false;
    const uint32_t last = before < 0x80 ? before : 0x80 | (before & 0x3F);
    const uint32_t first = after < 0x80      ? after
                           : after < 0x800   ? 0xC0 | after >> 6
                           : after < 0x10000 ? 0xE0 | after >> 12
                                             : 0xF0 | after >> 18;
    return is_seam(uint8_t(last), uint8_t(first));
}

size_t MatchSeams::find_words(Bytes text, Piece* words) const {
    size_t ends[kWords];
    size_t n = 0, start = 0;
    for (size_t at = 0; at < text.size && n < kWords;) {
        const size_t n_ends = scan_(text.data, text.size, at, ends, kWords - n);
        at = ends[n_ends - 1];
        if (at > UINT32_MAX) break;
        // Branches do not depend on the text: a word that has no seam at its end is overwritten by the longer one.
        for (const size_t* end = ends; end < ends + n_ends; ++end) {
            const bool is_end = *end == text.size || is_seam(text[*end - 1], text[*end]);
            words[n] = {uint32_t(start), uint32_t(*end)};
            n += is_end;
            start = is_end ? *end : start;
        }
    }
    return n;
}

}  // namespace crayon
