// The tree of a parsed pattern. Options such as case and extended mode are already applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/support/error.h"
#include "unicode/char_set.h"

namespace crayon::regex {

constexpr uint32_t kInfinite = 0xFFFFFFFF;

enum class NodeKind : uint8_t {
    string,  // code points, unchanged; an empty string matches the empty text.
    set,     // one character
    same,    // the previous character once more: one of `set`.
    list,    // children in sequence
    alt,     // the first child that leads to a match.
    repeat,  // one child, min to max times
    atomic,  // one child, whose first match is final
    group,   // one child: a capture, or a group with its own options
    look,    // one child, matched without consuming text
    anchor,
};

enum class Anchor : uint8_t {
    begin_line,
    end_line,
    begin_text,
    end_text,
    end_text_or_last_newline,
    search_start,
    word_boundary,
    no_word_boundary,
};

struct Node;
using NodePtr = std::unique_ptr<Node>;

struct Node {
    NodeKind kind;
    bool ignore_case = false;  // string: until expand_case
    bool newline = false;      // atomic: \R
    bool capture = false;      // group
    bool greedy = true;        // repeat
    bool behind = false;       // look
    bool negative = false;     // look
    Anchor anchor = Anchor::begin_line;
    uint32_t min = 0;  // repeat: times; look behind: characters
    uint32_t max = 0;
    uint32_t number = 0;  // capture, same: of the plain group; 0 for a named one
    uint32_t size = 0;    // approximate number of instructions, set by measure()
    std::u32string text;
    std::shared_ptr<const CharSet> set;  // set, same
    std::vector<NodePtr> children;

    explicit Node(NodeKind k) : kind(k) {}
    Node& child() const { return *children.front(); }
};

inline NodePtr make_node(NodeKind kind) {
    return std::make_unique<Node>(kind);
}
inline NodePtr make_node(NodeKind kind, NodePtr child) {
    NodePtr node = std::make_unique<Node>(kind);
    node->children.push_back(std::move(child));
    return node;
}
inline NodePtr make_set(CharSet set) {
    NodePtr node = make_node(NodeKind::set);
    node->set = std::make_shared<const CharSet>(std::move(set));
    return node;
}

// Errors quote the pattern, shortened if it is long.
[[noreturn]] void fail(ErrorKind kind, std::string_view pattern, const std::string& what);

// The text of a pattern while it is read.
struct Reader {
    std::string_view pattern;  // for errors
    std::u32string chars;
    size_t at = 0;

    bool done() const { return at >= chars.size(); }
    bool sees(char32_t c) const { return at < chars.size() && chars[at] == c; }
    bool sees(char32_t c, char32_t next) const { return sees(c) && at + 1 < chars.size() && chars[at + 1] == next; }
    bool take(char32_t c) {
        if (!sees(c)) return false;
        ++at;
        return true;
    }
    [[noreturn]] void refuse(const std::string& what) const { fail(ErrorKind::vocabulary, pattern, what); }
    [[noreturn]] void unsupported(const std::string& what) const { fail(ErrorKind::unsupported, pattern, what); }
};

// A character class, read from just after its '['. `negated`: the class begins with '^', so `set` is the complement of
// `listed`.
struct ClassSet {
    CharSet listed;
    bool negated = false;
    CharSet set() const { return negated ? listed.complement() : listed; }
};
ClassSet parse_class(Reader& reader);

// Reads an escape that is valid in classes and patterns, from just after its backslash: a property, or one character.
// Returns false, with nothing read, for other escapes.
bool parse_set_escape(Reader& reader, bool in_class, CharSet* set);
bool parse_char_escape(Reader& reader, bool in_class, uint32_t* code_point);

NodePtr parse(std::string_view pattern);

// The node of a class that ignores case. Includes characters that fold to several characters.
NodePtr expand_class(const ClassSet& cls);
// Replaces strings that ignore case by sets and alternatives.
void expand_case(NodePtr& node, bool behind);
// Checks the content of look-behind and sets its bounds.
void check_look_behind(Node& node, std::string_view pattern);
// Drops groups, and joins and merges nodes where possible.
void simplify(NodePtr& node);

bool is_one_char(const Node& node);
// The set of a node that matches one character.
std::shared_ptr<const CharSet> set_of(const Node& node);
// Whether a match begins with look-ahead and then takes all remaining text.
bool takes_all_after_look_ahead(const Node& root);
bool may_be_empty(const Node& node);
// Whether a match can always be found, possibly an empty one.
bool cannot_fail(const Node& node);
// For a repeat: the number of copies of its body, and whether it is compiled to copies.
uint32_t copies(const Node& repeat);
bool is_unrolled(const Node& repeat);
// Sets Node::size.
void measure(Node& node);

}  // namespace crayon::regex
