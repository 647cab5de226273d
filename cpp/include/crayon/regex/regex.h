// Regular expressions in the syntax of Oniguruma (Ruby syntax, UTF-8), with its matches and the character tables that
// tokenizers 0.23 has: for tokenizer.json patterns that have no scanner of their own. Backtracking, within a budget.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crayon/support/bytes.h"

namespace crayon {

class Regex {
  public:
    struct Match {
        size_t start, end;  // bytes
    };

    // Error(vocabulary) for what Oniguruma refuses, Error(unsupported) for syntax that is not native; the message
    // quotes the pattern and names the construct. Equal patterns that one thread compiles are one program, as long as
    // there is one.
    static Regex compile(std::string_view pattern);
    // A pattern that matches these bytes and nothing else.
    static Regex literal(std::string_view text);
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;
    ~Regex();

    // The leftmost match in `text` (valid UTF-8, whole: look-behind sees what is before `from`) that starts at `from`
    // or later. False when there is none. Error(argument) when backtracking took more steps than the budget.
    bool find(Bytes text, size_t from, Match* match) const;

    // What every text has in which there is a match: a string or, when that is empty, one of these bytes; if
    // `at_start`, as its first byte.
    struct Needed {
        std::string text, bytes;
        bool at_start = false;
    };
    // The least likely that is known, if any is.
    std::optional<Needed> needed() const;

    // All matches, one after the other, as tokenizers' find_iter over Oniguruma gives them (empty ones, too).
    void find_all(Bytes text, std::vector<Match>* matches) const;

  private:
    struct Program;
    explicit Regex(std::shared_ptr<const Program> program);
    std::shared_ptr<const Program> program_;
};

}  // namespace crayon
