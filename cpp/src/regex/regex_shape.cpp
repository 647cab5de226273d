// Properties of a pattern's tree, before compilation.
#include <algorithm>

#include "regex/regex_syntax.h"

namespace crayon::regex {

namespace {

constexpr uint32_t kMaxUnrolled = 128;  // most instructions that copies of a repeat may take

bool is_zero_width(const Node& node) {
    if (node.kind == NodeKind::look || node.kind == NodeKind::anchor) return true;
    if (node.kind == NodeKind::string) return node.text.empty();
    return node.kind != NodeKind::set && node.kind != NodeKind::same &&
           std::all_of(node.children.begin(), node.children.end(), [](const NodePtr& n) { return is_zero_width(*n); });
}

bool takes_all_after_look_ahead(const Node& node, bool* looked) {
    switch (node.kind) {
        case NodeKind::list:
            for (const NodePtr& child : node.children) {
                if (takes_all_after_look_ahead(*child, looked)) return true;
                if (!is_zero_width(*child)) return false;
            }
            return false;
        case NodeKind::alt:
            return std::any_of(node.children.begin(), node.children.end(),
                               [looked](const NodePtr& n) { return takes_all_after_look_ahead(*n, looked); });
        case NodeKind::repeat: {
            const Node& body = node.child();
            if (body.kind != NodeKind::set) return takes_all_after_look_ahead(body, looked);
            return *looked && node.greedy && node.max == kInfinite && body.set->covers(0, 0x10FFFF);
        }
        case NodeKind::atomic:
        case NodeKind::group:
            return takes_all_after_look_ahead(node.child(), looked);
        case NodeKind::look:
            *looked = *looked || (!node.behind && !node.negative);
            return false;
        default:
            return false;
    }
}

}  // namespace

bool takes_all_after_look_ahead(const Node& root) {
    bool looked = false;
    return takes_all_after_look_ahead(root, &looked);
}

bool is_one_char(const Node& node) {
    return node.kind == NodeKind::set || (node.kind == NodeKind::string && node.text.size() == 1);
}

std::shared_ptr<const CharSet> set_of(const Node& node) {
    return node.kind == NodeKind::set ? node.set : std::make_shared<const CharSet>(CharSet::of(node.text[0]));
}

uint32_t copies(const Node& repeat) {
    return repeat.max == kInfinite ? repeat.min + 1 : repeat.max;
}

bool may_be_empty(const Node& node) {
    const auto child_may = [](const NodePtr& n) { return may_be_empty(*n); };
    switch (node.kind) {
        case NodeKind::string:
            return node.text.empty();
        case NodeKind::set:
        case NodeKind::same:
            return false;
        case NodeKind::list:
            return std::all_of(node.children.begin(), node.children.end(), child_may);
        case NodeKind::alt:
            return std::any_of(node.children.begin(), node.children.end(), child_may);
        case NodeKind::repeat:
            return node.min == 0 || may_be_empty(node.child());
        case NodeKind::atomic:
        case NodeKind::group:
            return may_be_empty(node.child());
        case NodeKind::look:
        case NodeKind::anchor:
            break;
    }
    return true;
}

// Whether a repeat is compiled to copies of its body instead of a counter. An empty match of the body ends a counting
// loop but not copies: Oniguruma counts the empty matches of limited repeats.
bool is_unrolled(const Node& repeat) {
    if (copies(repeat) <= 1) return true;
    if (repeat.max != kInfinite && may_be_empty(repeat.child())) return false;
    return uint64_t(repeat.child().size + 1) * copies(repeat) <= kMaxUnrolled;
}

void measure(Node& node) {
    uint64_t size = 1;
    for (const NodePtr& child : node.children) {
        measure(*child);
        size += child->size + (node.kind == NodeKind::alt ? 1 : 0);
    }
    if (node.kind == NodeKind::repeat && !is_one_char(node.child())) {
        const uint64_t once = node.child().size + 1;
        size = is_unrolled(node) ? once * copies(node) + 3 : once + 4;
    }
    if (node.kind == NodeKind::look) size += 5;
    node.size = uint32_t(std::min<uint64_t>(size, 1 << 30));
}

bool cannot_fail(const Node& node) {
    switch (node.kind) {
        case NodeKind::string:
            return node.text.empty();
        case NodeKind::list:
            return std::all_of(node.children.begin(), node.children.end(),
                               [](const NodePtr& n) { return cannot_fail(*n); });
        case NodeKind::alt:
            return std::any_of(node.children.begin(), node.children.end(),
                               [](const NodePtr& n) { return cannot_fail(*n); });
        case NodeKind::repeat:
            return node.min == 0;
        case NodeKind::atomic:
        case NodeKind::group:
            return cannot_fail(node.child());
        default:
            return false;
    }
}

}  // namespace crayon::regex
