// Regular expressions in Oniguruma's Ruby syntax for UTF-8, with its matches and the character tables of tokenizers
// 0.23. For tokenizer.json patterns without a specialized scanner. Backtracks within a budget.
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

    // Throws Error(vocabulary) if Oniguruma refuses the pattern, and Error(unsupported) for syntax that this class does
    // not implement. The message quotes the pattern and names the construct. Regexes that one thread compiles from
    // equal patterns share one program.
    static Regex compile(std::string_view pattern);
    // A pattern that matches exactly these bytes.
    static Regex literal(std::string_view text);
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;
    ~Regex();

    // Finds the leftmost match that starts at `from` or later. `text` is the whole valid UTF-8: look-behind reads
    // before `from`. Returns false without a match. Throws Error(argument) if backtracking exceeds the budget.
    bool find(Bytes text, size_t from, Match* match) const;

    // A requirement that every matching text fulfils. The text contains `text` or, if `text` is empty, one of `bytes`.
    // With `at_start` the text's first byte is one of `bytes`.
    struct Needed {
        std::string text, bytes;
        bool at_start = false;
    };
    // Returns the requirement that filters out most texts, or nothing if none is known.
    std::optional<Needed> needed() const;

    // All matches, also empty ones, as tokenizers' find_iter over Oniguruma gives them.
    void find_all(Bytes text, std::vector<Match>* matches) const;

  private:
    struct Program;
    explicit Regex(std::shared_ptr<const Program> program);
    std::shared_ptr<const Program> program_;
};

}  // namespace crayon
