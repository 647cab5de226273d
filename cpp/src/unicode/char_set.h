// Sets of code points, the Unicode properties that Oniguruma names, and its case folding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace crayon {

// Sorted ranges that neither overlap nor touch.
class CharSet {
  public:
    struct Range {
        uint32_t first, last;
        bool operator==(const Range& other) const { return first == other.first && last == other.last; }
    };

    CharSet() = default;
    static CharSet of(uint32_t code_point) { return range(code_point, code_point); }
    static CharSet range(uint32_t first, uint32_t last);
    static CharSet everything();

    const std::vector<Range>& ranges() const { return ranges_; }
    bool empty() const { return ranges_.empty(); }
    bool contains(uint32_t code_point) const;
    bool meets(const CharSet& other) const;  // whether both have a code point in common
    bool meets(uint32_t first, uint32_t last) const;
    bool covers(uint32_t first, uint32_t last) const;
    bool operator==(const CharSet& other) const { return ranges_ == other.ranges_; }

    void add(const CharSet& other);
    CharSet intersected(const CharSet& other) const;
    CharSet complement() const;

    // Makes a set from ranges in any order, which may overlap.
    static CharSet normalized(std::vector<Range> ranges);

  private:
    std::vector<Range> ranges_;
};

// The set of \p{name}, [[:name:]] (as "[:name:]") or \d, \h, \s, \w. `name` is spelled as in unicode_properties.inc:
// lower case, without spaces, underscores and hyphens.
std::optional<CharSet> named_set(std::string_view name);

// The full case folding of a character: one to three code points, padded with zeros.
using Folded = std::array<uint32_t, 3>;
Folded folded(uint32_t code_point);

// The single characters that fold to `key`, including key[0] itself if the key is one code point.
CharSet fold_members(const Folded& key);
inline CharSet fold_equivalents(uint32_t code_point) {
    return fold_members(folded(code_point));
}

// Every folding of more than one code point, shorter ones first.
const std::vector<Folded>& long_folds();

// Adds to `set` all characters with the same folding as a member.
void add_fold_equivalents(CharSet* set);

}  // namespace crayon
