// SentencePiece's normalization rules (precompiled_charsmap), listed: which texts they replace, and by what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crayon/normalizers/normalizers.h"
#include "crayon/support/bytes.h"

namespace crayon {

class CharsmapRules {
  public:
    using Pair = std::pair<std::string_view, std::string_view>;  // a key, and the text that replaces it

    // Error(vocabulary) when the data is damaged.
    explicit CharsmapRules(std::string charsmap);
    CharsmapRules(const CharsmapRules&) = delete;

    size_t size() const { return rules_.size(); }
    // Whether the key of a rule is a single character.
    bool is_character(size_t i) const { return rules_[i].is_single; }
    Pair operator[](size_t i) const;

    // The text after the rules: from left to right, the longest rule that fits.
    std::string apply(std::string_view text) const;

    // For each beginning of a key of several characters: the last characters of such keys, in order. The beginnings
    // stand in the order of the rules.
    struct Following {
        std::string_view start;
        std::vector<uint32_t> chars;
    };
    // `orphan` becomes the first key that has a beginning of several characters which is no key; else it stays.
    std::vector<Following> following(std::string_view* orphan) const;

    // Where a normalizer differs from the rules: single characters, of all that exist, and keys of several characters
    // with what replaces them. Each of them is normalized between zero characters, which no rule has.
    struct Differences {
        std::vector<uint32_t> chars;
        std::vector<Pair> sequences;
    };
    Differences differences(const Normalizer& normalizer) const;

  private:
    struct Rule {
        size_t key, key_size;      // in keys_
        size_t value, value_size;  // in charsmap_
        bool is_single;            // the key is one character
    };

    uint32_t unit(size_t place) const;
    // Whether the units at `base` have one for the byte, which is at `base` XOR the byte.
    bool has_child(size_t base, uint8_t label) const;
    void read_trie();
    void add_rule(std::string_view key, size_t value);
    // False for a text that is no key.
    bool find(std::string_view key, std::string_view* value) const;
    std::string_view value_at(size_t offset) const;
    void compare_chars(const Normalizer& normalizer, std::vector<uint32_t>* differing) const;
    void compare_sequences(const Normalizer& normalizer, std::vector<Pair>* differing) const;

    std::string charsmap_;
    size_t units_ = 0;               // of the trie
    size_t outputs_ = 0;             // where the replacements begin
    bool has_utf8_outputs_ = false;  // all of them together
    std::string keys_;
    std::vector<Rule> rules_;
};

}  // namespace crayon
