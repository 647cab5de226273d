// Parses Oniguruma's syntax, from the text of a pattern to a tree.
#include <algorithm>

#include "crayon/unicode/unicode.h"
#include "regex/regex_syntax.h"

namespace crayon::regex {

namespace {

constexpr size_t kMaxPattern = 1 << 16;
constexpr size_t kMaxGroupDepth = 200;
constexpr uint32_t kMaxTimes = 100000;

struct Options {
    bool ignore_case = false;
    bool dot_all = false;
    bool extended = false;
};

struct Quantifier {
    uint32_t min, max;
    bool greedy = true;
    bool possessive = false;
};

// Returns the index of a quantifier among ? * + ?? *? +?, or -1 for another one.
int simple_type(const Node& q) {
    if (q.min == 0 && q.max == 1) return q.greedy ? 0 : 3;
    if (q.min == 0 && q.max == kInfinite) return q.greedy ? 1 : 4;
    if (q.min == 1 && q.max == kInfinite) return q.greedy ? 2 : 5;
    return -1;
}

enum class Reduction : uint8_t { as_is, keep_inner, star, lazy_star, lazy_optional, plus_lazily };

// How Oniguruma combines a quantifier with another one around it: a row for the inner one, a column for the outer one.
constexpr Reduction kKeep = Reduction::keep_inner;
constexpr Reduction kStar = Reduction::star;
constexpr Reduction kLazyStar = Reduction::lazy_star;
constexpr Reduction kPlusLazily = Reduction::plus_lazily;
constexpr Reduction kReductions[6][6] = {
    {kKeep, kStar, kStar, Reduction::lazy_optional, kLazyStar, Reduction::as_is},
    {kKeep, kKeep, kKeep, kPlusLazily, kPlusLazily, kKeep},
    {kStar, kStar, kKeep, Reduction::as_is, kPlusLazily, kKeep},
    {kKeep, kLazyStar, kLazyStar, kKeep, kLazyStar, kLazyStar},
    {kKeep, kKeep, kKeep, kKeep, kKeep, kKeep},
    {Reduction::as_is, kStar, Reduction::as_is, kLazyStar, kLazyStar, kKeep},
};

void set_times(Node& repeat, uint32_t min, uint32_t max, bool greedy) {
    repeat.min = min;
    repeat.max = max;
    repeat.greedy = greedy;
}

bool repeatable(const Node& node) {
    if (node.kind == NodeKind::anchor || node.kind == NodeKind::look) return false;
    if (node.kind != NodeKind::alt) return true;
    return std::all_of(node.children.begin(), node.children.end(), [](const NodePtr& n) { return repeatable(*n); });
}

bool is_space(char32_t c) {
    return c == U' ' || (c >= U'\t' && c <= U'\r');
}

class Parser {
  public:
    explicit Parser(std::string_view pattern) {
        r_.pattern = pattern;
        if (pattern.size() > kMaxPattern) r_.unsupported("its length");
        const auto* p = reinterpret_cast<const uint8_t*>(pattern.data());
        const uint8_t* end = p + pattern.size();
        while (p < end) {
            const Decoded c = decode_utf8(p, end);
            if (!c.valid) r_.refuse("bytes that are not UTF-8");
            r_.chars += char32_t(c.code_point);
            p += c.size;
        }
    }

    NodePtr run() {
        NodePtr node = parse_alternatives();
        if (!r_.done()) r_.refuse("an unmatched )");
        // If named groups exist, Oniguruma does not number plain groups.
        if (refers_ && named_) r_.unsupported("back references and named groups");
        return node;
    }

  private:
    NodePtr parse_alternatives() {
        if (groups_++ > kMaxGroupDepth) r_.unsupported("groups nested too deeply");
        NodePtr node = parse_branch();
        if (r_.sees(U'|')) {
            node = make_node(NodeKind::alt, std::move(node));
            while (r_.take(U'|')) node->children.push_back(parse_branch());
        }
        --groups_;
        return node;
    }

    NodePtr parse_branch() {
        std::vector<NodePtr> parts;
        for (;;) {
            skip_ignored();
            if (r_.done() || r_.sees(U'|') || r_.sees(U')')) break;
            parts.push_back(parse_piece(parts.empty() ? nullptr : parts.back().get()));
        }
        std::vector<NodePtr> joined;
        for (NodePtr& part : parts) {
            const bool text = part->kind == NodeKind::string;
            if (text && !joined.empty() && joined.back()->kind == NodeKind::string &&
                joined.back()->ignore_case == part->ignore_case)
                joined.back()->text += part->text;
            else
                joined.push_back(std::move(part));
        }
        if (joined.size() == 1) return std::move(joined.front());
        NodePtr list = make_node(joined.empty() ? NodeKind::string : NodeKind::list);
        list->ignore_case = joined.empty() && options_.ignore_case;
        list->children = std::move(joined);
        return list;
    }

    // Comments, and in extended mode white space.
    void skip_ignored() {
        for (;;) {
            if (r_.sees(U'(', U'?') && r_.at + 2 < r_.chars.size() && r_.chars[r_.at + 2] == U'#') {
                r_.at += 3;
                while (!r_.done() && !r_.sees(U')')) r_.at += r_.sees(U'\\') ? 2 : 1;
                if (!r_.take(U')')) r_.refuse("a comment without an end");
            } else if (options_.extended && !r_.done() && is_space(r_.chars[r_.at])) {
                ++r_.at;
            } else if (options_.extended && r_.sees(U'#')) {
                while (!r_.done() && !r_.take(U'\n')) ++r_.at;
            } else if (options_.extended && !r_.done() && r_.chars[r_.at] >= 0x80 &&
                       named_set("\\s")->contains(r_.chars[r_.at])) {
                r_.unsupported("white space beyond ASCII in extended mode");
            } else {
                return;
            }
        }
    }

    // Parses one item of a branch and its quantifiers. `previous` is the node before it in the branch, or null.
    NodePtr parse_piece(const Node* previous) {
        Quantifier q{0, 0};
        if (parse_quantifier(&q)) r_.refuse("a repeat operator without a target");
        NodePtr node = parse_back_reference(previous);
        if (node == nullptr) node = parse_atom();
        bool once = false;
        for (;;) {
            skip_ignored();
            if (!parse_quantifier(&q)) return node;
            if (!repeatable(*node)) r_.refuse("a repeat operator with an invalid target");
            // Oniguruma 6.9.10 loses an operator after {1}.
            if (once) r_.unsupported("a repeat operator behind {1}");
            once = q.min == 1 && q.max == 1;
            if (!once) node = repeated(std::move(node), q);
            if (++repeats_ > kMaxPattern) r_.unsupported("its length");
        }
    }

    bool parse_quantifier(Quantifier* q) {
        bool fixed = false;
        bool interval = false;
        *q = {0, kInfinite};
        if (r_.take(U'?')) {
            q->max = 1;
        } else if (r_.take(U'+')) {
            q->min = 1;
        } else if (!r_.take(U'*')) {
            if (!r_.sees(U'{') || !parse_interval(q, &fixed)) return false;
            interval = true;
        }
        if (!fixed && !q->possessive && r_.take(U'?'))
            q->greedy = false;
        else if (!interval && r_.take(U'+'))
            q->possessive = true;
        return true;
    }

    bool parse_number(uint32_t* number) {
        const size_t begin = r_.at;
        *number = 0;
        while (!r_.done() && r_.chars[r_.at] >= U'0' && r_.chars[r_.at] <= U'9') {
            *number = *number * 10 + uint32_t(r_.chars[r_.at++] - U'0');
            if (*number > kMaxTimes) r_.refuse("a repeat of more than 100000 times");
        }
        return r_.at > begin;
    }

    // {n}, {n,m}, {n,}, {,m}; other text is literal. If the first number exceeds the second, the repeat is possessive.
    bool parse_interval(Quantifier* q, bool* fixed) {
        const size_t begin = r_.at++;
        const bool low = parse_number(&q->min);
        bool good = low;
        if (r_.take(U',')) {
            good = parse_number(&q->max) || low;
            if (r_.chars[r_.at - 1] == U',') q->max = kInfinite;
        } else {
            q->max = q->min;
            *fixed = true;
        }
        if (!good || !r_.take(U'}')) {
            r_.at = begin;
            return false;
        }
        if (q->min > q->max) {
            std::swap(q->min, q->max);
            q->possessive = true;
        }
        return true;
    }

    NodePtr repeated(NodePtr body, const Quantifier& q) {
        NodePtr node = make_node(NodeKind::repeat);
        set_times(*node, q.min, q.max, q.greedy);
        reduce(*node, std::move(body));
        return q.possessive ? make_node(NodeKind::atomic, std::move(node)) : std::move(node);
    }

    void reduce(Node& outer, NodePtr inner) {
        if (inner->kind != NodeKind::repeat) {
            outer.children.push_back(std::move(inner));
            return;
        }
        const int outer_type = simple_type(outer);
        const int inner_type = simple_type(*inner);
        if (outer_type < 0 || inner_type < 0) {
            if (outer.min == outer.max && inner->min == inner->max) {
                const uint64_t times = uint64_t(outer.min) * inner->min;
                if (times > kMaxTimes) r_.unsupported("a repeat of more than 100000 times");
                outer.min = outer.max = uint32_t(times);
                outer.children = std::move(inner->children);
                return;
            }
            if (inner_type == 1 || inner_type == 2) {
                if (outer.max != kInfinite && outer.max > 1 && outer.greedy) outer.max = outer.min == 0 ? 1 : outer.min;
            }
            outer.children.push_back(std::move(inner));
            return;
        }
        const Reduction reduction = kReductions[inner_type][outer_type];
        switch (reduction) {
            case Reduction::as_is:
                break;
            case Reduction::keep_inner:
                set_times(outer, inner->min, inner->max, inner->greedy);
                break;
            case Reduction::star:
                set_times(outer, 0, kInfinite, true);
                break;
            case Reduction::lazy_star:
                set_times(outer, 0, kInfinite, false);
                break;
            case Reduction::lazy_optional:
                set_times(outer, 0, 1, false);
                break;
            case Reduction::plus_lazily:
                set_times(outer, 0, 1, false);
                set_times(*inner, 1, kInfinite, true);
                break;
        }
        if (reduction == Reduction::as_is || reduction == Reduction::plus_lazily)
            outer.children.push_back(std::move(inner));
        else
            outer.children = std::move(inner->children);
    }

    // Returns the set of group `number`, or null unless `previous` is that group or a reference to it. The group must
    // be one character.
    static std::shared_ptr<const CharSet> referred(const Node* previous, uint32_t number) {
        if (previous->kind == NodeKind::group)
            return previous->number == number && is_one_char(previous->child()) ? set_of(previous->child()) : nullptr;
        while (previous->kind == NodeKind::repeat || previous->kind == NodeKind::atomic) previous = &previous->child();
        return previous->kind == NodeKind::same && previous->number == number ? previous->set : nullptr;
    }

    // Reads a back reference \N directly after group N or after another \N. Group N must match one character, which \N
    // repeats. Returns null, with nothing read, for other text.
    NodePtr parse_back_reference(const Node* previous) {
        if (previous == nullptr || options_.ignore_case || !r_.sees(U'\\') || r_.at + 1 >= r_.chars.size())
            return nullptr;
        const auto is_digit = [this](size_t at) {
            return at < r_.chars.size() && r_.chars[at] >= U'0' && r_.chars[at] <= U'9';
        };
        if (!is_digit(r_.at + 1) || is_digit(r_.at + 2)) return nullptr;
        NodePtr node = make_node(NodeKind::same);
        node->number = uint32_t(r_.chars[r_.at + 1] - U'0');
        node->set = referred(previous, node->number);
        if (node->number == 0 || node->set == nullptr) return nullptr;
        r_.at += 2;
        refers_ = true;
        return node;
    }

    NodePtr parse_atom() {
        const char32_t c = r_.chars[r_.at++];
        switch (c) {
            case U'(':
                return parse_group();
            case U'[': {
                const ClassSet cls = parse_class(r_);
                return options_.ignore_case ? expand_class(cls) : make_set(cls.set());
            }
            case U'.':
                return make_set(options_.dot_all ? CharSet::everything() : CharSet::of(U'\n').complement());
            case U'^':
                return make_anchor(Anchor::begin_line);
            case U'$':
                return make_anchor(Anchor::end_line);
            case U'\\':
                return parse_escape();
            default:
                return make_char(c);
        }
    }

    NodePtr make_char(uint32_t c) const {
        NodePtr node = make_node(NodeKind::string);
        node->text = char32_t(c);
        node->ignore_case = options_.ignore_case;
        return node;
    }

    static NodePtr make_anchor(Anchor anchor) {
        NodePtr node = make_node(NodeKind::anchor);
        node->anchor = anchor;
        return node;
    }

    NodePtr parse_escape() {
        if (r_.done()) r_.refuse("a backslash at its end");
        CharSet set;
        if (parse_set_escape(r_, false, &set)) return make_set(std::move(set));
        const char32_t c = r_.chars[r_.at];
        static constexpr std::u32string_view kAnchors = U"AZzGbB";
        static constexpr Anchor kMeanings[] = {Anchor::begin_text,    Anchor::end_text_or_last_newline,
                                               Anchor::end_text,      Anchor::search_start,
                                               Anchor::word_boundary, Anchor::no_word_boundary};
        if (const size_t i = kAnchors.find(c); i != std::u32string_view::npos) {
            ++r_.at;
            return make_anchor(kMeanings[i]);
        }
        if (c == U'N' || c == U'O') {
            ++r_.at;
            return make_set(c == U'O' ? CharSet::everything() : CharSet::of(U'\n').complement());
        }
        if (c == U'R') {
            ++r_.at;
            return make_newline();
        }
        static constexpr std::u32string_view kForeign = U"KXyYkg";
        uint32_t code_point = 0;
        if (kForeign.find(c) != std::u32string_view::npos || !parse_char_escape(r_, false, &code_point))
            r_.unsupported(std::string("the escape \\") + (c < 0x80 ? char(c) : '?'));
        return make_char(code_point);
    }

    static NodePtr make_newline() {
        NodePtr both = make_node(NodeKind::string);
        both->text = U"\r\n";
        NodePtr alt = make_node(NodeKind::alt, std::move(both));
        CharSet one = CharSet::range(U'\n', U'\r');
        one.add(CharSet::of(0x85));
        one.add(CharSet::range(0x2028, 0x2029));
        alt->children.push_back(make_set(std::move(one)));
        NodePtr node = make_node(NodeKind::atomic, std::move(alt));
        node->newline = true;
        return node;
    }

    NodePtr parse_group() {
        if (r_.sees(U'*')) r_.unsupported("the callout (*");
        if (!r_.take(U'?')) {
            const uint32_t number = ++captures_;
            NodePtr node = make_node(NodeKind::group, parse_until_close());
            node->capture = true;
            node->number = number;
            return node;
        }
        if (r_.done()) r_.refuse("a group without an end");
        const char32_t c = r_.chars[r_.at++];
        switch (c) {
            case U':':
                return parse_until_close();
            case U'=':
            case U'!':
                return make_look(false, c == U'!');
            case U'>':
                return make_node(NodeKind::atomic, parse_until_close());
            case U'<':
                if (r_.take(U'=')) return make_look(true, false);
                if (r_.take(U'!')) return make_look(true, true);
                return parse_named(U'>');
            case U'\'':
                return parse_named(U'\'');
            case U'~':
            case U'@':
            case U'(':
            case U'{':
            case U'y':
                r_.unsupported(std::string("the group (?") + char(c));
            default:
                --r_.at;
                return parse_options();
        }
    }

    NodePtr parse_until_close() {
        const Options outer = options_;
        NodePtr node = parse_alternatives();
        options_ = outer;
        if (!r_.take(U')')) r_.refuse("a group without an end");
        return node;
    }

    NodePtr make_look(bool behind, bool negative) {
        NodePtr node = make_node(NodeKind::look, parse_until_close());
        node->behind = behind;
        node->negative = negative;
        return node;
    }

    NodePtr parse_named(char32_t close) {
        const size_t begin = r_.at;
        while (!r_.done() && !r_.sees(close)) {
            const char32_t c = r_.chars[r_.at++];
            const bool letter = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || c == U'_';
            const bool digit = c >= U'0' && c <= U'9' && r_.at - 1 > begin;
            if (!letter && !digit) r_.unsupported("this name of a group");
        }
        if (r_.at == begin || !r_.take(close)) r_.refuse("an invalid name of a group");
        named_ = true;
        NodePtr node = make_node(NodeKind::group, parse_until_close());
        node->capture = true;
        return node;
    }

    // (?imx-imx) applies up to the end of the enclosing group, across alternatives; (?imx-imx:...) only inside.
    NodePtr parse_options() {
        Options changed = options_;
        bool on = true;
        if (r_.sees(U')') || r_.sees(U':')) r_.refuse("an undefined group option");
        while (!r_.done() && !r_.sees(U')') && !r_.sees(U':')) {
            const char32_t c = r_.chars[r_.at++];
            if (c == U'-')
                on = false;
            else if (c == U'i')
                changed.ignore_case = on;
            else if (c == U'm')
                changed.dot_all = on;
            else if (c == U'x')
                changed.extended = on;
            else if (std::u32string_view(U"WDSPCILy").find(c) != std::u32string_view::npos)
                r_.unsupported(std::string("the group option ") + char(c));
            else
                r_.refuse("an undefined group option");
        }
        if (r_.done()) r_.refuse("a group without an end");
        const bool rest = r_.chars[r_.at++] == U')';
        const Options outer = options_;
        options_ = changed;
        NodePtr node = make_node(NodeKind::group, rest ? parse_alternatives() : parse_until_close());
        options_ = outer;
        return node;
    }

    Reader r_;
    Options options_;
    size_t groups_ = 0;  // number of open groups, and 1 for the pattern itself
    size_t repeats_ = 0;
    uint32_t captures_ = 0;  // plain groups so far
    bool named_ = false;     // a named group exists
    bool refers_ = false;    // a back reference exists
};

}  // namespace

void fail(ErrorKind kind, std::string_view pattern, const std::string& what) {
    constexpr size_t kShown = 200;
    size_t size = std::min(kShown, pattern.size());
    while (size > 0 && size < pattern.size() && (pattern[size] & 0xC0) == 0x80) --size;
    const std::string shown = std::string(pattern.substr(0, size)) + (size < pattern.size() ? "..." : "");
    throw Error(kind, "the regular expression \"" + shown + "\" has " + what +
                          (kind == ErrorKind::unsupported ? ", which is not supported" : ""));
}

NodePtr parse(std::string_view pattern) {
    return Parser(pattern).run();
}

}  // namespace crayon::regex
