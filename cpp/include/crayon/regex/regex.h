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

    // Error(vocabulary) if Oniguruma refuses the pattern, Error(unsupported) for syntax that is not native. The message
    // quotes the pattern and names the construct. Regexes that one thread compiles from equal patterns share one
    // program.
    static Regex compile(std::string_view pattern);
    // A pattern that matches exactly these bytes.
    static Regex literal(std::string_view text);
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;
    ~Regex();

    // Finds the leftmost match that starts at `from` or later. `text` is the whole valid UTF-8: look-behind reads
    // before `from`. Returns false without a match. Error(argument) if backtracking exceeds the budget.
    bool find(Bytes text, size_t from, Match* match) const;

    // A requirement that every matching text fulfils. It contains `text`; if that is empty, one of `bytes`. With
    // `at_start` its first byte is one of them.
    struct Needed {
        std::string text, bytes;
        bool at_start = false;
    };
    // The requirement that filters out most texts. None if no requirement is known.
    std::optional<Needed> needed() const;

    // All matches, also empty ones, as tokenizers' find_iter over Oniguruma gives them.
    void find_all(Bytes text, std::vector<Match>* matches) const;

  private:
    struct Program;
    explicit Regex(std::shared_ptr<const Program> program);
    std::shared_ptr<const Program> program_;
};

}  // namespace crayon
