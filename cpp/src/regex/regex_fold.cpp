// Transforms a parsed pattern before compilation: case folding, checks of look-behind, simplification.
#include <algorithm>
#include <iterator>

#include "regex/regex_syntax.h"

namespace crayon::regex {

namespace {

NodePtr make_literal(char32_t c) {
    NodePtr node = make_node(NodeKind::string);
    node->text = c;
    return node;
}

NodePtr any_case(uint32_t c) {
    CharSet set = fold_equivalents(c);
    if (set == CharSet::of(c)) return make_literal(c);
    return make_set(std::move(set));
}

// A list of the characters of a folding, each in any case.
NodePtr spelled_out(const Folded& key) {
    NodePtr list = make_node(NodeKind::list);
    for (const uint32_t c : key) {
        if (c != 0) list->children.push_back(any_case(c));
    }
    return list;
}

NodePtr spelled_out_or_member(const Folded& key) {
    NodePtr alt = make_node(NodeKind::alt, make_set(fold_members(key)));
    alt->children.push_back(spelled_out(key));
    return alt;
}

// Finds the two or three characters at `at` that one character folds to. Returns false if they do not form such a
// folding.
bool long_fold_at(const std::u32string& text, size_t at, Folded* key, size_t* size) {
    for (size_t count = 3; count >= 2; --count) {
        if (at + count > text.size()) continue;
        *key = {0, 0, 0};
        for (size_t i = 0; i < count; ++i) {
            const Folded one = folded(text[at + i]);
            (*key)[i] = one[1] == 0 ? one[0] : text[at + i];
        }
        if (!fold_members(*key).empty()) {
            *size = count;
            return true;
        }
    }
    return false;
}

// Like Oniguruma, splits a string from the left. Look-behind needs a known length, so it folds single characters only.
NodePtr expand_string(const std::u32string& text, bool behind) {
    NodePtr list = make_node(NodeKind::list);
    for (size_t at = 0; at < text.size();) {
        Folded key;
        size_t size = 1;
        if (!behind && long_fold_at(text, at, &key, &size)) {
            list->children.push_back(spelled_out_or_member(key));
        } else {
            key = folded(text[at]);
            const bool longer = !behind && key[1] != 0;
            list->children.push_back(longer ? spelled_out_or_member(key) : any_case(text[at]));
        }
        at += size;
    }
    return list;
}

struct Lengths {
    uint32_t min, max;
};

uint32_t saturated(uint64_t value) {
    return uint32_t(std::min<uint64_t>(value, kInfinite));
}
uint32_t times(uint32_t a, uint32_t b) {
    if (a == 0 || b == 0) return 0;
    return a == kInfinite || b == kInfinite ? kInfinite : saturated(uint64_t(a) * b);
}

// The least and the greatest length of a match, in characters.
Lengths lengths(const Node& node) {
    switch (node.kind) {
        case NodeKind::string:
            return {uint32_t(node.text.size()), uint32_t(node.text.size())};
        case NodeKind::set:
        case NodeKind::same:
            return {1, 1};
        case NodeKind::list: {
            Lengths sum{0, 0};
            for (const NodePtr& child : node.children) {
                const Lengths one = lengths(*child);
                sum = {saturated(uint64_t(sum.min) + one.min), saturated(uint64_t(sum.max) + one.max)};
            }
            return sum;
        }
        case NodeKind::alt: {
            Lengths all = lengths(node.child());
            for (const NodePtr& child : node.children) {
                const Lengths one = lengths(*child);
                all = {std::min(all.min, one.min), std::max(all.max, one.max)};
            }
            return all;
        }
        case NodeKind::repeat: {
            const Lengths one = lengths(node.child());
            return {times(one.min, node.min), times(one.max, node.max)};
        }
        case NodeKind::atomic:
        case NodeKind::group:
            return lengths(node.child());
        case NodeKind::look:
        case NodeKind::anchor:
            break;
    }
    return {0, 0};
}

void check_inside_look_behind(const Node& node, bool negative, std::string_view pattern) {
    bool good = true;
    if (node.kind == NodeKind::same) fail(ErrorKind::unsupported, pattern, "a back reference in look-behind");
    if (node.kind == NodeKind::look) good = node.behind && (negative || !node.negative);
    if (node.kind == NodeKind::group) good = !negative || !node.capture;
    if (node.kind == NodeKind::anchor)
        good = node.anchor != Anchor::end_text && node.anchor != Anchor::end_text_or_last_newline;
    if (!good) fail(ErrorKind::vocabulary, pattern, "an invalid pattern in look-behind");
    // Oniguruma 6.9.10 finds fewer matches with such patterns than their syntax says.
    if (node.newline) fail(ErrorKind::unsupported, pattern, "\\R in look-behind");
    if (node.kind == NodeKind::look) {
        const Lengths length = lengths(node.child());
        if (length.min != length.max || length.max == 0)
            fail(ErrorKind::unsupported, pattern, "look-behind of varying or no length in look-behind");
    }
    for (const NodePtr& child : node.children) check_inside_look_behind(*child, negative, pattern);
}

void simplify_list(NodePtr& node) {
    std::vector<NodePtr> out;
    const auto add = [&out](NodePtr child) {
        if (child->kind == NodeKind::string && child->text.empty()) return;
        if (child->kind == NodeKind::string && !out.empty() && out.back()->kind == NodeKind::string)
            out.back()->text += child->text;
        else
            out.push_back(std::move(child));
    };
    for (NodePtr& child : node->children) {
        if (child->kind != NodeKind::list) {
            add(std::move(child));
        } else {
            for (NodePtr& inner : child->children) add(std::move(inner));
        }
    }
    if (out.size() == 1) {
        node = std::move(out.front());
        return;
    }
    node->children = std::move(out);
    if (node->children.empty()) node = make_node(NodeKind::string);
}

// Combines adjacent alternatives of one character each into one set; which of them matches does not matter.
void simplify_alt(NodePtr& node) {
    std::vector<NodePtr> all;
    for (NodePtr& child : node->children) {
        if (child->kind == NodeKind::alt)
            std::move(child->children.begin(), child->children.end(), std::back_inserter(all));
        else
            all.push_back(std::move(child));
    }
    std::vector<NodePtr> out;
    for (size_t i = 0; i < all.size();) {
        size_t end = i;
        std::vector<CharSet::Range> ranges;
        while (end < all.size() && is_one_char(*all[end])) {
            const auto set = set_of(*all[end++]);
            ranges.insert(ranges.end(), set->ranges().begin(), set->ranges().end());
        }
        if (end > i + 1) {
            out.push_back(make_set(CharSet::normalized(std::move(ranges))));
            i = end;
        } else {
            out.push_back(std::move(all[i++]));
        }
    }
    if (out.size() == 1)
        node = std::move(out.front());
    else
        node->children = std::move(out);
}

}  // namespace

NodePtr expand_class(const ClassSet& cls) {
    ClassSet closed = cls;
    add_fold_equivalents(&closed.listed);
    NodePtr set = make_set(closed.set());
    if (cls.negated) return set;
    NodePtr alt = make_node(NodeKind::alt, std::move(set));
    for (const Folded& key : long_folds()) {
        if (fold_members(key).meets(cls.listed)) alt->children.push_back(spelled_out(key));
    }
    return alt->children.size() == 1 ? std::move(alt->children.front()) : std::move(alt);
}

void expand_case(NodePtr& node, bool behind) {
    if (node->kind == NodeKind::string && node->ignore_case) node = expand_string(node->text, behind);
    const bool inner_behind = behind || (node->kind == NodeKind::look && node->behind);
    for (NodePtr& child : node->children) {
        if (child->kind != NodeKind::set) expand_case(child, inner_behind);
    }
}

void check_look_behind(Node& node, std::string_view pattern) {
    if (node.kind == NodeKind::look && node.behind) {
        check_inside_look_behind(node.child(), node.negative, pattern);
        const Lengths length = lengths(node.child());
        // Oniguruma 6.9.10 refuses some such patterns, without a discernible rule.
        if (length.min == 0 && length.max != 0)
            fail(ErrorKind::unsupported, pattern, "look-behind that may be empty or not");
        node.min = length.min;
        node.max = length.max;
    }
    for (const NodePtr& child : node.children) check_look_behind(*child, pattern);
}

void simplify(NodePtr& node) {
    for (NodePtr& child : node->children) simplify(child);
    switch (node->kind) {
        case NodeKind::group:
            node = std::move(node->children.front());
            break;
        case NodeKind::list:
            simplify_list(node);
            break;
        case NodeKind::alt:
            simplify_alt(node);
            break;
        case NodeKind::repeat:
            if (node->max == 0) node = make_node(NodeKind::string);
            break;
        case NodeKind::atomic:
            if (is_one_char(node->child()) || node->child().kind == NodeKind::string)
                node = std::move(node->children.front());
            break;
        default:
            break;
    }
}

}  // namespace crayon::regex
