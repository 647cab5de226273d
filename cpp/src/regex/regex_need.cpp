// Finds the requirements that a text must fulfil for a pattern to match. A text that does not fulfil them is not
// searched.
#include <algorithm>

#include "regex/regex_program.h"
#include "regex/regex_syntax.h"

namespace crayon::regex {

Need need_of(const ByteSet& bytes) {
    Need need;
    need.bytes = bytes;
    need.count = uint32_t(std::count(bytes.begin(), bytes.end(), true));
    return need;
}

bool is_rarer(const Need& a, const Need& b) {
    return a.text.size() != b.text.size() ? a.text.size() > b.text.size() : a.count < b.count;
}

namespace {

constexpr size_t kMaxText = 64;     // bytes of a string to search
constexpr uint32_t kMaxBytes = 16;  // larger sets occur in most texts

Need need_of_text(const std::u32string& text) {
    Need need;
    for (size_t i = 0; i < text.size() && need.text.size() < kMaxText; ++i) append_utf8(text[i], &need.text);
    need.bytes[uint8_t(need.text.front())] = true;
    need.count = 1;
    return need;
}

// Keeps the kMaxNeeds best requirements. Of equally good ones, keeps the last, because matching searches for the first
// byte anyway.
void keep_best(std::vector<Need>* all) {
    if (all->size() <= kMaxNeeds) return;
    std::reverse(all->begin(), all->end());
    std::stable_sort(all->begin(), all->end(), is_rarer);
    all->resize(kMaxNeeds);
    std::reverse(all->begin(), all->end());
}

std::vector<Need> collect(const Node& node) {
    std::vector<Need> out;
    switch (node.kind) {
        case NodeKind::string:
            if (!node.text.empty()) out.push_back(need_of_text(node.text));
            break;
        case NodeKind::set:
            out.push_back(need_of(first_bytes(*node.set)));
            break;
        case NodeKind::list:
            for (const NodePtr& child : node.children) {
                for (Need& need : collect(*child)) out.push_back(std::move(need));
                keep_best(&out);
            }
            break;
        case NodeKind::alt: {
            ByteSet any{};
            for (const NodePtr& child : node.children) {
                const std::vector<Need> branch = collect(*child);
                if (branch.empty()) return {};
                const Need& best = *std::min_element(branch.begin(), branch.end(), is_rarer);
                for (size_t i = 0; i < any.size(); ++i) any[i] = any[i] || best.bytes[i];
            }
            out.push_back(need_of(any));
            break;
        }
        case NodeKind::repeat:
            if (node.min > 0 && node.max > 0) return collect(node.child());
            break;
        case NodeKind::atomic:
        case NodeKind::group:
            return collect(node.child());
        case NodeKind::look:
            // Look-behind sees text before the match.
            if (!node.behind && !node.negative) return collect(node.child());
            break;
        case NodeKind::same:  // a repetition of a group, which has the same requirement
        case NodeKind::anchor:
            break;
    }
    return out;
}

}  // namespace

std::vector<Need> needs(const Node& root) {
    std::vector<Need> all = collect(root);
    const auto useless = [](const Need& need) { return need.text.empty() && need.count > kMaxBytes; };
    all.erase(std::remove_if(all.begin(), all.end(), useless), all.end());
    for (Need& need : all) {
        // One byte is found faster as a string.
        if (need.count == 1 && need.text.empty())
            need.text = char(std::find(need.bytes.begin(), need.bytes.end(), true) - need.bytes.begin());
        if (!need.text.empty()) need.failure = failure_table(need.text);
    }
    return all;
}

}  // namespace crayon::regex
