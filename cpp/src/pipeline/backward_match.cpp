#include "pipeline/backward_match.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "crayon/cartridge/cartridge_v2.h"
#include "crayon/support/error.h"

namespace crayon {

BackwardMatch::BackwardMatch(const DoubleArrayView& trie) {
    std::vector<std::pair<std::string, int32_t>> keys;
    try {
        if (trie.size > 0) keys = list_double_array(trie);
    } catch (const Error&) {
        works_ = false;
    }
    if (keys.empty()) return;
    std::vector<std::pair<std::string_view, int32_t>> spelled;
    for (auto& key : keys) {
        std::reverse(key.first.begin(), key.first.end());
        spelled.emplace_back(key.first, key.second);
    }
    sort_keys(&spelled);
    trie_ = build_double_array(spelled);

    // Processes all keys together, byte by byte, so that the failure links of shallower nodes are known.
    const DoubleArrayView view = view_of(trie_);
    failure_.assign(view.size, -1);
    failure_[0] = 0;
    matches_.resize(view.size);
    std::sort(spelled.begin(), spelled.end(),
              [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    longest_ = spelled.front().first.size();
    std::vector<int32_t> nodes(spelled.size(), 0);
    for (size_t depth = 0; depth < longest_; ++depth) {
        for (size_t i = 0; i < spelled.size() && spelled[i].first.size() > depth; ++i) {
            const uint8_t byte = uint8_t(spelled[i].first[depth]);
            const int32_t parent = nodes[i], node = nodes[i] = view.step(parent, byte);
            if (failure_[size_t(node)] >= 0) continue;
            int32_t link = -1;
            for (int32_t from = parent; link < 0 && from != 0;) link = view.step(from = failure_[size_t(from)], byte);
            failure_[size_t(node)] = link = std::max(link, 0);
            const int32_t value = view.values[node];
            matches_[size_t(node)] = value >= 0 ? Match{uint32_t(depth + 1), value} : matches_[size_t(link)];
        }
    }
}

void BackwardMatch::match(Bytes text, size_t from, size_t to, std::vector<Match>* out) const {
    out->assign(to - from, Match());
    if (longest_ == 0 || from == to) return;
    const DoubleArrayView view = view_of(trie_);
    int32_t node = 0;
    for (size_t at = std::min(text.size, to + longest_ - 1); at-- > from;) {
        int32_t next = view.step(node, text[at]);
        while (next < 0 && node != 0) next = view.step(node = failure_[size_t(node)], text[at]);
        node = std::max(next, 0);
        if (at < to) (*out)[at - from] = matches_[size_t(node)];
    }
}

}  // namespace crayon
