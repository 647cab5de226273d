// Compiles the tree of a pattern to its program. The characters that can come next decide how much a loop must
// remember.
#include <algorithm>
#include <map>

#include "crayon/regex/regex.h"
#include "regex/regex_program.h"
#include "regex/regex_syntax.h"

namespace crayon::regex {

namespace {

constexpr size_t kMaxInstructions = 50000;
constexpr size_t kMaxWork = 50'000'000;  // ranges to examine
constexpr size_t kMaxTables = 8000;      // of a few kilobytes each
constexpr size_t kMaxBranches = 64;
constexpr int kMaxLookAhead = 16;

// The possible first characters of a match: all are in `set`, unless the match may be empty (`nullable`).
struct First {
    CharSet set;
    bool nullable = false;
};

// The characters that can come next in the whole pattern: one of `set`, or any if `open`. If `certain`, the rest of the
// pattern cannot fail.
struct Follow {
    CharSet set;
    bool open = false;
    bool certain = false;
};

// The text that a match must find after a node: the rest of the node's list, then the continuation of the list.
struct Next {
    enum class Kind { success, unknown, list, loop } kind;
    const std::vector<NodePtr>* nodes = nullptr;  // list
    size_t at = 0;
    const Node* body = nullptr;  // loop: may come again
    bool again = false;          // loop: must come again
    const Next* then = nullptr;
};

class Compiler {
  public:
    explicit Compiler(std::string_view pattern) : pattern_(pattern) {
        code_.pattern = std::string(pattern);
        NodePtr root = parse(pattern);
        expand_case(root, false);
        check_look_behind(*root, pattern);
        simplify(root);
        // Oniguruma 6.9.10 only tries such patterns at the search's start, whatever the text.
        if (takes_all_after_look_ahead(*root))
            fail(ErrorKind::unsupported, pattern, "look-ahead before all that is left of the text");
        measure(*root);
        const Next success{Next::Kind::success};
        emit(*root, success);
        append(Op::match);
        const First start = first(*root);
        code_.anywhere = start.nullable;
        if (!start.nullable) code_.first = first_bytes(start.set);
        const Node& leading = root->kind == NodeKind::list && !root->children.empty() ? root->child() : *root;
        code_.at_start = leading.kind == NodeKind::anchor && leading.anchor == Anchor::begin_text;
        code_.needs = needs(*root);
    }

    Code take() { return std::move(code_); }

  private:
    void work(size_t amount) {
        work_ += amount;
        if (work_ > kMaxWork) fail(ErrorKind::unsupported, pattern_, "too many parts");
    }

    First first(const Node& node) {
        std::vector<CharSet::Range> ranges;
        First out;
        out.nullable = list_first(node, &ranges);
        work(ranges.size());
        out.set = CharSet::normalized(std::move(ranges));
        return out;
    }

    // Appends the possible first characters. Returns whether the match may be empty.
    bool list_first(const Node& node, std::vector<CharSet::Range>* out) {
        work(1);
        switch (node.kind) {
            case NodeKind::string:
                if (node.text.empty()) return true;
                out->push_back({uint32_t(node.text[0]), uint32_t(node.text[0])});
                return false;
            case NodeKind::set:
            case NodeKind::same:
                work(node.set->ranges().size());
                out->insert(out->end(), node.set->ranges().begin(), node.set->ranges().end());
                return false;
            case NodeKind::list:
                return std::all_of(node.children.begin(), node.children.end(),
                                   [&](const NodePtr& child) { return list_first(*child, out); });
            case NodeKind::alt: {
                bool nullable = false;
                for (const NodePtr& child : node.children) nullable |= list_first(*child, out);
                return nullable;
            }
            case NodeKind::repeat:
                return list_first(node.child(), out) || node.min == 0;
            case NodeKind::atomic:
            case NodeKind::group:
                return list_first(node.child(), out);
            case NodeKind::look:
                // A positive look-ahead requires its characters, so the text here begins with one of them.
                return node.behind || node.negative || list_first(node.child(), out);
            case NodeKind::anchor:
                break;
        }
        return true;
    }

    void add(CharSet* to, const CharSet& set) {
        work(to->ranges().size() + set.ranges().size());
        to->add(set);
    }

    Follow follow(const Next& next) {
        Follow out;
        out.certain = true;
        int steps = 0;
        for (const Next* at = &next;; at = at->then) {
            if (at->kind == Next::Kind::success || at->kind == Next::Kind::unknown) {
                out.open = true;
                out.certain = out.certain && at->kind == Next::Kind::success;
                return out;
            }
            if (at->kind == Next::Kind::loop) {
                const First one = first(*at->body);
                add(&out.set, one.set);
                out.certain = out.certain && !at->again;
                if (at->again && !one.nullable) return out;
                continue;
            }
            for (size_t i = at->at; i < at->nodes->size(); ++i) {
                if (++steps > kMaxLookAhead) {
                    out.open = true;
                    out.certain = false;
                    return out;
                }
                const Node& node = *(*at->nodes)[i];
                const First one = first(node);
                add(&out.set, one.set);
                out.certain = out.certain && cannot_fail(node);
                if (!one.nullable) return out;
            }
        }
    }

    // The first characters of `node` and, if it may be empty, of the nodes after it.
    Follow follow_with(const Node& node, const Next& next) {
        First one = first(node);
        Follow out;
        out.set = std::move(one.set);
        if (one.nullable) {
            const Follow rest = follow(next);
            add(&out.set, rest.set);
            out.open = rest.open;
        }
        return out;
    }

    size_t append(Op op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, uint32_t d = 0, bool flag = false) {
        if (code_.instructions.size() >= kMaxInstructions) fail(ErrorKind::unsupported, pattern_, "too many parts");
        code_.instructions.push_back({op, uint8_t(flag), a, b, c, d});
        return code_.instructions.size() - 1;
    }

    uint32_t here() const { return uint32_t(code_.instructions.size()); }
    Instruction& at(size_t i) { return code_.instructions[i]; }

    uint32_t add_set(const CharSet& set) {
        work(set.ranges().size());
        std::string key(reinterpret_cast<const char*>(set.ranges().data()),
                        set.ranges().size() * sizeof(set.ranges()[0]));
        const auto [it, fresh] = set_numbers_.emplace(std::move(key), uint32_t(code_.sets.size()));
        if (fresh) {
            count_table();
            code_.sets.emplace_back(set);
        }
        return it->second;
    }

    uint32_t add_set(const Node& one_char) {
        return one_char.kind == NodeKind::set ? add_set(*one_char.set) : add_set(CharSet::of(one_char.text[0]));
    }

    void need_word_set() {
        if (has_word_set_) return;
        code_.word_set = add_set(*named_set("\\w"));
        has_word_set_ = true;
    }

    void count_table() {
        if (++tables_ > kMaxTables) fail(ErrorKind::unsupported, pattern_, "too many parts");
    }

    uint32_t add_choice(const std::vector<Follow>& branches) {
        count_table();
        Choice choice;
        choice.targets.resize(branches.size());
        choice.viable.fill(0);
        for (size_t i = 0; i < branches.size(); ++i) {
            const uint64_t bit = uint64_t(1) << i;
            const ByteSet bytes = first_bytes(branches[i].set);
            for (size_t byte = 0; byte < 256; ++byte) {
                if (branches[i].open || bytes[byte]) choice.viable[byte] |= bit;
            }
            if (branches[i].open) choice.viable[256] |= bit;
        }
        code_.choices.push_back(std::move(choice));
        return uint32_t(code_.choices.size() - 1);
    }

    void emit(const Node& node, const Next& next) {
        switch (node.kind) {
            case NodeKind::string:
                emit_text(node.text);
                break;
            case NodeKind::set:
                append(Op::set, add_set(*node.set));
                break;
            case NodeKind::same:
                append(Op::same, 0, 1, 1);
                break;
            case NodeKind::list:
                for (size_t i = 0; i < node.children.size(); ++i)
                    emit(*node.children[i], {Next::Kind::list, &node.children, i + 1, nullptr, false, &next});
                break;
            case NodeKind::alt:
                emit_alt(node, 0, next);
                break;
            case NodeKind::repeat:
                if (is_one_char(node.child()))
                    emit_loop(node, next);
                else if (node.child().kind == NodeKind::same && node.greedy && follow(next).certain)
                    append(Op::same, 0, node.min, node.max);
                else if (is_unrolled(node))
                    emit_copies(node, next);
                else
                    emit_counted(node, next);
                break;
            case NodeKind::atomic: {
                const uint32_t reg = code_.registers++;
                append(Op::final_begin, reg);
                emit(node.child(), {Next::Kind::success});
                append(Op::final_end, reg);
                break;
            }
            case NodeKind::group:
                emit(node.child(), next);
                break;
            case NodeKind::look:
                emit_look(node);
                break;
            case NodeKind::anchor:
                if (node.anchor == Anchor::word_boundary || node.anchor == Anchor::no_word_boundary) need_word_set();
                append(Op(int(Op::begin_line) + int(node.anchor)));
                break;
        }
    }

    void emit_text(const std::u32string& text) {
        if (text.empty()) return;
        const size_t begin = code_.bytes.size();
        for (const char32_t c : text) append_utf8(c, &code_.bytes);
        append(Op::text, uint32_t(begin), uint32_t(code_.bytes.size() - begin));
    }

    void emit_alt(const Node& alt, size_t begin, const Next& next) {
        const size_t left = alt.children.size() - begin;
        const size_t count = std::min(left, kMaxBranches);
        const bool more = left > count;
        std::vector<Follow> branches;
        for (size_t i = 0; i < count; ++i) {
            if (more && i + 1 == count) {
                branches.emplace_back().open = true;
            } else {
                branches.push_back(follow_with(*alt.children[begin + i], next));
            }
        }
        const uint32_t choice = add_choice(branches);
        append(Op::choose, choice);
        std::vector<size_t> jumps;
        for (size_t i = 0; i < count; ++i) {
            code_.choices[choice].targets[i] = here();
            if (more && i + 1 == count) {
                emit_alt(alt, begin + i, next);
            } else {
                emit(*alt.children[begin + i], next);
                if (i + 1 < count) jumps.push_back(append(Op::jump));
            }
        }
        for (const size_t jump : jumps) at(jump).a = here();
    }

    void emit_loop(const Node& repeat, const Next& next) {
        const Node& body = repeat.child();
        if (repeat.max == 0) return;
        const uint32_t set = add_set(body);
        if (repeat.min == 1 && repeat.max == 1) {
            append(Op::set, set);
            return;
        }
        if (repeat.min == repeat.max) {
            append(Op::loop_final, set, repeat.min, repeat.max);
            return;
        }
        const Follow after = follow(next);
        const CharSet members = body.kind == NodeKind::set ? *body.set : CharSet::of(body.text[0]);
        work(members.ranges().size() + after.set.ranges().size());
        const bool apart = !after.open && !members.meets(after.set);
        if (repeat.greedy && (apart || after.certain)) {
            append(Op::loop_final, set, repeat.min, repeat.max);
            return;
        }
        uint32_t filter = kNoFilter;
        if (!after.open) {
            count_table();
            filter = uint32_t(code_.filters.size());
            code_.filters.push_back(first_bytes(after.set));
        }
        append(repeat.greedy ? Op::loop : Op::loop_lazy, set, repeat.min, repeat.max, filter);
    }

    // Emits the choice between the next instruction and `exit`, which is set later.
    uint32_t emit_fork(const Node& body, bool greedy, const Next& inside, const Next& next) {
        Follow enter = follow_with(body, inside);
        Follow leave = follow(next);
        std::vector<Follow> branches;
        if (!greedy) std::swap(enter, leave);
        branches.push_back(std::move(enter));
        branches.push_back(std::move(leave));
        const uint32_t choice = add_choice(branches);
        append(Op::choose, choice);
        code_.choices[choice].targets[greedy ? 0 : 1] = here();
        return choice;
    }

    void emit_copies(const Node& repeat, const Next& next) {
        const Node& body = repeat.child();
        const Next again{Next::Kind::loop, nullptr, 0, &body, false, &next};
        const Next again_surely{Next::Kind::loop, nullptr, 0, &body, true, &again};
        for (uint32_t i = 0; i < repeat.min; ++i) emit(body, i + 1 < repeat.min ? again_surely : again);
        if (repeat.max == kInfinite) {
            const uint32_t begin = here();
            const uint32_t choice = emit_fork(body, repeat.greedy, again, next);
            emit_guarded(body, again, [&](size_t guard) {
                append(Op::jump, begin);
                if (guard != 0) at(guard).b = here();
            });
            code_.choices[choice].targets[repeat.greedy ? 1 : 0] = here();
            return;
        }
        std::vector<uint32_t> choices;
        for (uint32_t i = repeat.min; i < repeat.max; ++i) {
            choices.push_back(emit_fork(body, repeat.greedy, again, next));
            emit(body, again);
        }
        for (const uint32_t choice : choices) code_.choices[choice].targets[repeat.greedy ? 1 : 0] = here();
    }

    // Emits the body with a check that ends a loop whose body matched nothing. `end` emits the code after it.
    template <typename End>
    void emit_guarded(const Node& body, const Next& next, End&& end) {
        if (!may_be_empty(body)) {
            emit(body, next);
            end(0);
            return;
        }
        const uint32_t reg = code_.registers++;
        append(Op::empty_begin, reg);
        emit(body, next);
        const size_t guard = append(Op::empty_end, reg);
        end(guard);
    }

    void emit_counted(const Node& repeat, const Next& next) {
        const Node& body = repeat.child();
        const Next unknown{Next::Kind::unknown};
        const Next again{Next::Kind::loop, nullptr, 0, &body, false, &unknown};
        (void)next;
        const uint32_t reg = code_.registers++;
        append(Op::count_begin, reg);
        const size_t begin = append(Op::count, reg, repeat.min, repeat.max, 0, repeat.greedy);
        emit_guarded(body, again, [&](size_t guard) {
            append(Op::count_next, reg, uint32_t(begin));
            if (guard != 0) at(guard).b = here();
        });
        at(begin).d = here();
    }

    void emit_look(const Node& look) {
        const Node& body = look.child();
        if (is_one_char(body)) {
            append(look.behind ? Op::previous_set : Op::next_set, add_set(body), 0, 0, 0, look.negative);
            return;
        }
        const uint32_t reg = code_.registers;
        code_.registers += 2;
        const size_t begin = append(Op::look_begin, reg, 0, 0, 0, look.negative);
        if (!look.behind) {
            emit(body, {Next::Kind::success});
        } else if (look.min == look.max) {
            if (look.min != 0) append(Op::step_back, 0, look.min, look.max);
            emit(body, {Next::Kind::success});
        } else {
            const uint32_t limit = code_.registers++;
            append(Op::behind_begin, limit);
            append(Op::step_back, 0, look.min, look.max);
            emit(body, {Next::Kind::unknown});
            append(Op::behind_end, limit, reg);
        }
        append(Op::look_end, reg, 0, 0, 0, look.negative);
        at(begin).b = here();
    }

    std::string_view pattern_;
    Code code_;
    std::map<std::string, uint32_t> set_numbers_;
    bool has_word_set_ = false;
    size_t work_ = 0;
    size_t tables_ = 0;
};

}  // namespace

Code compile(std::string_view pattern) {
    return Compiler(pattern).take();
}

}  // namespace crayon::regex
